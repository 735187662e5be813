"""account.json: what is written is read back, refused where it is not known, and described by its schema."""

from __future__ import annotations

import json as plain_json
from pathlib import Path

import jsonschema
import pytest

from tests.golden import accounts
from unslow.account.model import Account
from unslow.errors import UnslowError
from unslow.reports import json

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "docs" / "formats" / "account.schema.json"
ALL = [accounts.ordinary, accounts.with_findings, accounts.hostile, accounts.empty, accounts.instant, accounts.busy]


@pytest.mark.parametrize("make", ALL)
def test_what_is_written_is_read_back(make: object, tmp_path: Path) -> None:
    """Every field survives; only bytes that are no UTF-8 do not."""
    account: Account = make()  # type: ignore[operator]
    path = tmp_path / "account.json"
    json.write(account, path)
    assert [one.name for one in tmp_path.iterdir()] == ["account.json"]
    again = json.read(path)
    if make is accounts.hostile:
        assert again.command is not None and again.command[-1] == "?"
        assert again.activities == account.activities
    else:
        assert again == account


@pytest.mark.parametrize("make", ALL)
def test_documents_meet_the_schema(make: object) -> None:
    document = plain_json.loads(json.encode(make()))  # type: ignore[operator]
    jsonschema.validate(document, json.schema())
    assert "ranks" not in document
    assert sum(row["ns"] for row in document["activities"]) == document["wall_ns"]


def test_the_kept_schema_is_current() -> None:
    """Made again: python -c "import json; from unslow.reports.json import schema; print(json.dumps(schema(), indent=1, ensure_ascii=False))"."""
    assert plain_json.loads(SCHEMA.read_text()) == plain_json.loads(plain_json.dumps(json.schema()))


def test_the_schema_refuses_something() -> None:
    document = plain_json.loads(json.encode(accounts.ordinary()))
    document["wall_ns"] = "long"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, json.schema())


def test_every_field_is_in_the_page() -> None:
    page = (SCHEMA.parent / "account.md").read_text()
    for name in json.schema()["$defs"]["Account"]["properties"]:
        assert f"`{name}`" in page, name


def test_unknown_fields_are_left_aside(tmp_path: Path) -> None:
    document = plain_json.loads(json.encode(accounts.ordinary()))
    document["invented"] = {"later": 1}
    document["activities"][0]["invented"] = [1]
    path = tmp_path / "account.json"
    path.write_text(plain_json.dumps(document))
    assert json.read(path) == accounts.ordinary()


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ('{"format": 2}', "unknown-format"),
        ('{"format": "1"}', "unknown-format"),
        ("{}", "unknown-format"),
        ("[1]", "unknown-format"),
        ('{"format": 1}', "unreadable-account"),
        ("{", "unreadable-account"),
        ("", "unreadable-account"),
        ("\udcff", "unreadable-account"),
    ],
)
def test_other_documents_are_refused_plainly(text: str, slug: str, tmp_path: Path) -> None:
    path = tmp_path / "account.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UnslowError) as caught:
        json.read(path)
    assert caught.value.slug == slug
    assert str(path) in str(caught.value)


def test_a_missing_file_is_refused_plainly(tmp_path: Path) -> None:
    with pytest.raises(UnslowError):
        json.read(tmp_path / "account.json")


def test_a_document_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    """The place of account.json is taken by a folder."""
    (tmp_path / "account.json" / "inside").mkdir(parents=True)
    with pytest.raises(OSError, match=r"account"):
        json.write(accounts.ordinary(), tmp_path / "account.json")
    assert [one.name for one in tmp_path.iterdir()] == ["account.json"]
