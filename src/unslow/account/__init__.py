"""Where every nanosecond of a run went; the package itself can be called: ``unslow.account(recording)``."""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unslow.account.model import Account
    from unslow.recording.model import Recording


class _Callable(types.ModuleType):
    """The public face and the package share the name ``account``: the module answers a call."""

    def __call__(self, recording: Recording) -> Account:
        from unslow.account.build import build

        return build(recording)


sys.modules[__name__].__class__ = _Callable
