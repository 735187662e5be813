"""``unslow doctor``: what this machine and these frameworks allow."""

from __future__ import annotations

import argparse
import sys


def main(words: list[str]) -> int:
    """Measure and print; takes some seconds."""
    parser = argparse.ArgumentParser(prog="unslow doctor", description="What this machine and these frameworks allow.", allow_abbrev=False)
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--python", metavar="EXE", help="the interpreter whose frameworks are looked at")
    options = parser.parse_args(words)
    from unslow.launch.doctor import describe, examine

    print("unslow doctor: measuring, some seconds …", file=sys.stderr, flush=True)
    found = examine(options.python)
    if options.json:
        import json

        print(json.dumps(found, indent=1))
    else:
        print(describe(found), end="")
    return 0
