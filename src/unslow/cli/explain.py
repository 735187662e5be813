"""``unslow explain``: what an activity or a cause means."""

from __future__ import annotations

import argparse
import difflib

from unslow.errors import UnslowError


def main(words: list[str]) -> int:
    """Print the page about a name."""
    parser = argparse.ArgumentParser(prog="unslow explain", description="What an activity or a cause means.", allow_abbrev=False)
    parser.add_argument("name", nargs="?", help="a name from the verdict, for example data.wait; without one, all names")
    options = parser.parse_args(words)
    from unslow.activities import ACTIVITIES, WORKER
    from unslow.causes import CAUSES, page

    if options.name is None:
        for title, names in (
            ("activities: where the time goes", ACTIVITIES),
            ("in loader workers, beside the main thread", WORKER),
            ("causes: why", CAUSES),
        ):
            print(title)
            for name, sentence in names.items():
                print(f"  {name:32} {sentence}")
        return 0
    name = options.name.removeprefix("evaluate/") if options.name != "evaluate" else options.name
    sentence = ACTIVITIES.get(name) or CAUSES.get(name) or WORKER.get(name) or ""
    if not sentence:
        near = difflib.get_close_matches(name, [*ACTIVITIES, *CAUSES, *WORKER], 3, 0.4)
        raise UnslowError(
            "no-such-name",
            what=f"there is no activity or cause named {options.name}",
            expected=f"one of {', '.join(near)}" if near else "a name from the verdict",
            do="unslow explain lists all names",
        )
    kind = "activity" if name in ACTIVITIES else "cause" if name in CAUSES else "what a loader worker does"
    print(f"{name} ({kind})\n\n  {sentence}")
    if options.name != name:
        print("\n  With the prefix evaluate/: the same, inside validation.")
    text = page(name) if kind == "cause" else None
    if text is not None:
        print("\n" + text.partition("\n")[2].strip())
    return 0
