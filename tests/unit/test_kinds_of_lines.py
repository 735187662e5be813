"""The syntax of a line tells a copy of everything from a copy of the batch, a search from an index, text from numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from unslow.findings.kinds import kind, seat

METHOD = "class Store:\n    def get(self, i, rows, key, n):\n"


def _kind(tmp_path: Path, text: str, wanted: str) -> str:
    file = tmp_path / "train.py"
    file.write_text("import numpy as np\nimport torch\nimport random\nimport json\nimport pickle\nimport sys\nimport time\n" + text)
    number = next(n for n, line in enumerate(file.read_text().splitlines(), 1) if wanted in line)
    return kind(str(file), number)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x = self.data.copy()", "copy"),
        ("x = self.data[: self.size].astype('f')", "copy"),
        ("x = (self.images / 255)[rows]", "copy"),
        ("x = random.sample(list(self.buffer), n)", "copy"),
        ("x = torch.tensor(self.rewards)[rows]", "copy"),
        ("x = self.data[rows].copy()", "plain"),
        ("x = self.images[i].float() / 255", "plain"),
        ("x = torch.tensor(self.rows[i])", "convert"),
        ("x = torch.tensor([float(v) for v in rows])", "convert"),
        ("x = [[float(v) for v in row] for row in rows]", "convert"),
        ("x = torch.stack([self.data[row] for row in rows])", "stack"),
        ("x = np.stack([np.abs(np.fft.rfft(self.data[row])) for row in rows])", "plain"),
        ("x = np.where(self.keys == key)[0][0]", "lookup"),
        ("x = self.names.index(key)", "lookup"),
        ("x = self.table.iloc[i]", "lookup"),
        ("x = [r for r in self.records if r['id'] == key]", "lookup"),
        ("x = np.where(rows > 0)", "plain"),
        ("x = json.loads(self.lines[i])", "decode"),
        ("x = [float(v) for v in self.lines[i].split()]", "decode"),
        ("x = np.load(self.paths[i])", "read"),
        ("self.file.seek(self.offsets[i])", "seek"),
        ("time.sleep(0.1)", "wait"),
        ("sys.stderr.write('\\r' + key)", "draw"),
        ("self.log.write(key)", "write"),
        ("pickle.dump(key, self.file)", "save"),
    ],
)
def test_kind_of_a_line(tmp_path: Path, line: str, expected: str) -> None:
    """In a method, ``self.…`` outlives the call and the arguments do not."""
    assert _kind(tmp_path, f"{METHOD}        {line}\n        return x\n", line) == expected


def test_a_copy_of_every_column_is_a_copy_of_everything(tmp_path: Path) -> None:
    """A loop over the columns of a store does not make its columns a selection."""
    text = (
        f"{METHOD}        found = {{}}\n        for name in self.store:\n            found[name] = self.store[name][: self.size].copy()\n"
    )
    assert _kind(tmp_path, text, ".copy()") == "copy"


def test_a_copy_in_the_training_loop_of_what_was_there_before(tmp_path: Path) -> None:
    """At the level of the module, what is made before the loop outlives a step; what is made in it does not."""
    text = (
        "images = np.zeros(9)\nfor step in range(9):\n    rows = np.arange(3)\n    x = images.astype('f')[rows]\n    y = rows.astype('f')\n"
    )
    assert _kind(tmp_path, text, "x = images") == "copy"
    assert _kind(tmp_path, text, "y = rows") == "plain"


def test_collating_is_no_copy_of_the_source(tmp_path: Path) -> None:
    """An argument that is used as a whole is what the call is for."""
    text = "def collate(batch):\n    x = np.array([item[0] for item in batch])\n    return torch.from_numpy(x)\n"
    assert _kind(tmp_path, text, "np.array") == "convert"


def test_a_line_that_only_returns_stands_for_the_work_before_it(tmp_path: Path) -> None:
    """The sampler sees a thread where it next gives the lock away."""
    file = tmp_path / "train.py"
    file.write_text(
        "import torch\nclass D:\n    def __getitem__(self, i):\n        row = self.keys.index(i)\n        return torch.tensor(row)\n"
    )
    assert seat(str(file), 5) == ("lookup", 4)
    assert seat(str(file), 4) == ("lookup", 4)


def test_a_list_that_is_converted_is_work_of_its_own(tmp_path: Path) -> None:
    """However little the line before it does, and however little is done to each element."""
    file = tmp_path / "train.py"
    file.write_text(
        "import torch\nframes = []\nfor step in range(9):\n    rows = draw(step)\n    x = torch.tensor([frames[row] for row in rows])\n"
    )
    assert seat(str(file), 5) == ("convert", 5)


@pytest.mark.parametrize("body", ["return torch.cat(me.chunks)[rows]", "store = me.chunks\n        return torch.cat(store)[rows]"])
def test_the_first_argument_of_a_method_is_the_object(tmp_path: Path, body: str) -> None:
    """Whatever it is called, and whatever local name its attribute gets."""
    assert _kind(tmp_path, f"class Store:\n    def get(me, rows):\n        {body}\n", "torch.cat") == "copy"
