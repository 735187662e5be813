"""One file per cause, named after it; each has ``CAUSE`` and ``check(context)``."""
