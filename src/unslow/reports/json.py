"""``account.json``: written, read back, and described by a JSON Schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from unslow.account.model import FORMAT, Account
from unslow.errors import UnslowError


def encode(account: Account) -> bytes:
    """The document as indented JSON; values that JSON does not know are written as text."""
    return msgspec.json.format(msgspec.json.encode(account, enc_hook=str), indent=1) + b"\n"


def write(account: Account, path: Path) -> None:
    """Write beside, then put in place: a reader never sees half a document."""
    beside = path.with_suffix(".part")
    beside.write_bytes(encode(account))
    beside.replace(path)


def read(path: Path) -> Account:
    """Read a document of any format that is known; fields that are not known are left aside."""
    try:
        raw = msgspec.json.decode(path.read_bytes())
        version = raw.get("format") if isinstance(raw, dict) else None
        if version != FORMAT:
            raise UnslowError(
                "unknown-format",
                what=f"{path} has format {version!r}",
                expected=f"an account.json of format {FORMAT}",
                do="open it with the unslow that wrote it, or a newer one",
            )
        return msgspec.convert(raw, Account)
    except (OSError, msgspec.MsgspecError) as problem:
        raise UnslowError(
            "unreadable-account",
            what=f"{path} could not be read: {problem}",
            expected="an account.json as unslow writes it",
            do="unslow runs lists the runs that are known here",
        ) from problem


def schema() -> dict[str, Any]:
    """JSON Schema of format 1."""
    return msgspec.json.schema(Account)
