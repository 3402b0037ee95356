"""Tables and arrays larger than the memory limit of the process are loaded completely."""

import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits on memory are kept on Linux only")

MB = 1 << 20
ROWS, WIDTH = 100_000, 120
LEFT = 32 * MB
"""What the process may still take; the features are 48 MB."""

TABLE_LEFT = 40 * MB
"""The same for a table of text, where features are fitted on a sample of its cells."""

LIMITED = """
import resource, sys
import numpy, pandas, scipy.sparse, safetensors.numpy, torch
try:
    import pyarrow, pyarrow.parquet
    pyarrow.set_cpu_count(1)  # each thread counts with its whole stack
    pyarrow.set_io_thread_count(1)
except ImportError:
    pass
from noiseproof.data import load
from noiseproof.memory import _entries, Path

spec, root, left = sys.argv[1], sys.argv[2], int(sys.argv[3])
torch.zeros(10).sum()
used = _entries(Path("/proc/self/status"))["VmData"]
resource.setrlimit(resource.RLIMIT_DATA, (used + left, used + left))
data = load(spec, root=root)
total = labels = 0
for start in range(0, len(data), 1000):
    batch = data.batch(slice(start, start + 1000))
    total += int(batch.input.double().sum())
    labels += int(batch.label.sum())
print(type(data.inputs).__name__, len(data), total, labels)
"""


def run(spec, root, left=LEFT):
    """The output of a process that may allocate this many bytes after its imports."""
    command = [sys.executable, "-c", LIMITED, spec, str(root), str(left)]
    settings = os.environ | {
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "MALLOC_MMAP_THRESHOLD_": "131072",  # freed blocks are returned at once
    }
    return subprocess.run(command, capture_output=True, text=True, env=settings)  # noqa: S603


@pytest.fixture(scope="module")
def numbers():
    return np.random.default_rng(0).integers(0, 10, (ROWS, WIDTH), dtype=np.uint8)


@pytest.fixture(scope="module")
def labels(numbers):
    return (numbers[:, 0] % 3).astype(np.int64)


def expected(numbers, labels):
    return f"memmap {ROWS} {int(numbers.sum())} {int(labels.sum())}\n"


def check_table(found, labels):
    """All rows are there; the features are standardised, so their sum is small."""
    assert found.returncode == 0, found.stderr
    kind, rows, total, label_sum = found.stdout.split()
    assert (kind, int(rows), int(label_sum)) == ("memmap", ROWS, int(labels.sum()))
    assert abs(int(total)) < 0.05 * ROWS * WIDTH


def write_csv(path, numbers, labels):
    """Rows are assembled as bytes, since formatting 12 million numbers is slow."""
    text = np.full((ROWS, 2 * WIDTH + 2), ord(","), np.uint8)
    text[:, 0 : 2 * WIDTH : 2] = numbers + ord("0")
    text[:, 2 * WIDTH] = labels + ord("0")
    text[:, 2 * WIDTH + 1] = ord("\n")
    names = [f"x{number}" for number in range(WIDTH)]
    path.write_bytes(",".join([*names, "label"]).encode() + b"\n" + text.tobytes())


@pytest.mark.slow
def test_csv(numbers, labels, tmp_path):
    path = tmp_path / "rows.csv"
    write_csv(path, numbers, labels)
    whole = run(f"csv(path={path.as_posix()!r}, stream=False)", tmp_path, TABLE_LEFT)
    assert whole.returncode != 0
    assert "emory" in whole.stderr
    streamed = run(f"csv(path={path.as_posix()!r})", tmp_path, TABLE_LEFT)
    check_table(streamed, labels)


@pytest.mark.slow
def test_parquet(numbers, labels, tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow, which is an extra")
    import pandas as pd

    path = tmp_path / "rows.parquet"
    frame = pd.DataFrame(numbers.astype(np.float64), columns=[f"x{number}" for number in range(WIDTH)])
    frame.assign(label=labels).to_parquet(path, row_group_size=5000, index=False)
    left = 80 * MB  # the table has 96 MB, and pyarrow takes about 50 whatever the number of rows
    check_table(run(f"parquet(path={path.as_posix()!r}, stream=True)", tmp_path, left), labels)
    whole = run(f"parquet(path={path.as_posix()!r}, stream=False)", tmp_path, left)
    assert whole.returncode != 0
    assert "emory" in whole.stderr or "malloc" in whole.stderr


@pytest.mark.slow
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_npz(method, numbers, labels, tmp_path):
    path = tmp_path / "rows.npz"
    with zipfile.ZipFile(path, "w", method, compresslevel=1) as archive:
        for name, array in (("x_train", numbers.astype(np.float32)), ("y_train", labels)):
            with archive.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array(file, array)
    whole = run(f"arrays(path={path.as_posix()!r}, stream=False)", tmp_path)
    assert whole.returncode != 0
    assert "emory" in whole.stderr
    mapped = run(f"arrays(path={path.as_posix()!r})", tmp_path)
    assert mapped.stdout == expected(numbers, labels), mapped.stderr
