"""The one error that users see: what happened, what was expected, and what to do next."""

from __future__ import annotations


class UnslowError(Exception):
    """A failure that is explained, not traced back. ``slug`` names it for good, so that a page can be linked to it."""

    def __init__(self, slug: str, what: str, expected: str, do: str) -> None:
        super().__init__(slug, what, expected, do)
        self.slug = slug
        self.what = what
        self.expected = expected
        self.do = do

    def __str__(self) -> str:
        return f"{self.what}\n  expected: {self.expected}\n  do: {self.do}\n  ({self.slug})"
