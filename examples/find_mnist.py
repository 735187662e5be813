"""Find MNIST for the example: where torchvision looks, else by download, else the small subset kept beside this file."""

import atexit
import gzip
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from torchvision import datasets

SUBSET = Path(__file__).resolve().parent / "data"
TRAINING_IMAGES = 9000  # of the subset's 10,000; the others are its test set


def find_mnist(data):
    """The folder to give to ``torchvision.datasets.MNIST``; says so where it is the subset."""
    root = Path(data).expanduser()
    if has_mnist(root) or (can_download() and download(root)):
        return root
    print(f"MNIST is neither under {data} nor to be downloaded: training on the subset in examples/data (9,000 images, 1,000 to test)")
    return unpack_subset()


def has_mnist(root):
    names = [Path(url).stem for url, _ in datasets.MNIST.resources]
    return all((root / "MNIST" / "raw" / name).is_file() for name in names)


def can_download():
    """Ask each mirror for its smallest file, in a process of its own: looking up a name has no timeout."""
    code = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=4).read(1)"
    for mirror in datasets.MNIST.mirrors:
        command = [sys.executable, "-S", "-c", code, mirror + "t10k-labels-idx1-ubyte.gz"]
        try:
            if subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=6).returncode == 0:
                return True
        except subprocess.TimeoutExpired:
            pass
    return False


def download(root):
    try:
        datasets.MNIST(root, download=True)
    except (OSError, RuntimeError) as problem:
        print(f"MNIST could not be downloaded: {problem}")
        return False
    return True


def unpack_subset():
    """Lay the subset out as torchvision wants it, in a temporary folder: the first images to train on, the rest to test."""
    root = Path(tempfile.mkdtemp(prefix="mnist-subset-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    raw = root / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for kind, header, size in [("images-idx3-ubyte", 16, 28 * 28), ("labels-idx1-ubyte", 8, 1)]:
        packed = gzip.decompress((SUBSET / f"t10k-{kind}.gz").read_bytes())
        head, body = packed[:header], packed[header:]
        cut = TRAINING_IMAGES * size
        for name, part in [("train", body[:cut]), ("t10k", body[cut:])]:
            count = (len(part) // size).to_bytes(4, "big")
            (raw / f"{name}-{kind}").write_bytes(head[:4] + count + head[8:] + part)
    return root
