"""``account.json``: written, read back, and described by a JSON Schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from unslow.account.model import FORMAT, Account
from unslow.errors import UnslowError


def encode(account: Account) -> bytes:
    """The document as indented JSON; values that JSON does not know are written as text, ``ranks`` only for a job."""
    document = msgspec.to_builtins(account, enc_hook=str)
    if account.ranks is None:
        del document["ranks"]
    try:
        raw = msgspec.json.encode(document)
    except UnicodeEncodeError:
        raw = msgspec.json.encode(_printable(document))
    return msgspec.json.format(raw, indent=1) + b"\n"


def _printable(value: Any) -> Any:
    """The same document, where bytes of a path that are no UTF-8 became question marks: JSON cannot hold them."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_printable(key): _printable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_printable(item) for item in value]
    return value


def write(account: Account, path: Path) -> None:
    """Write beside, then put in place: a reader never sees half a document. Raises OSError."""
    beside = path.with_suffix(".part")
    try:
        beside.write_bytes(encode(account))
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def read(path: Path) -> Account:
    """Read a document of any format that is known; fields that are not known are left aside. Raises UnslowError."""
    try:
        raw = msgspec.json.decode(path.read_bytes())
        version = raw.get("format") if isinstance(raw, dict) else None
        if version != FORMAT:
            raise UnslowError(
                "unknown-format",
                what=f"{path} has format {version!r}" if version is not None else f"{path} is no account: it states no format",
                expected=f"an account.json of format {FORMAT}",
                do="open it with the unslow that wrote it, or a newer one",
            )
        return msgspec.convert(raw, Account)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise UnslowError(
            "unreadable-account",
            what=f"{path} could not be read: {problem}",
            expected="an account.json as unslow writes it",
            do="unslow runs lists the runs that are known here",
        ) from problem


def schema() -> dict[str, Any]:
    """JSON Schema of format 1, as it is kept in ``docs/formats/account.schema.json``."""
    made = msgspec.json.schema(Account)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "account.json, format 1", **made}
