"""unslow runs an unmodified training script and accounts for every second of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unslow.account.model import Account
    from unslow.recording.model import Recording

__version__ = "0.1.0"
__all__ = ["__version__", "account", "diagnose", "load"]


def load(folder: Path | str) -> Recording:
    """The recording of a finished run, from its run folder. Raises UnslowError where there is none."""
    from unslow.recording.merge import load as load_recording

    return load_recording(Path(folder))


def diagnose(recording: Recording, account: Account) -> Account:
    """The same account with its findings: why the time went, main cause first."""
    from unslow.findings.engine import diagnose as run_rules

    return run_rules(recording, account)


def __getattr__(name: str) -> Any:
    """``unslow.account`` is the package of that name, which can be called with a recording."""
    if name == "account":
        from importlib import import_module

        return import_module("unslow.account")
    raise AttributeError(f"module 'unslow' has no attribute {name!r}")
