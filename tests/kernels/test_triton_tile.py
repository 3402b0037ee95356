"""How rows are cut, and that losses are the same however they are."""

import pytest
from row_batches import batch, row_error, step

from noiseproof import losses

pytest.importorskip("triton", reason="tiles are those of Triton's kernels")
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")
SPECS = [
    "ce",
    "gr",
    "nce",
    "mse",
    "nfl",
    "cr(ce)",
    "cr(gce)",
    "cr(nce)",
    "peer(ce)",
    "peer(nce)",
    "10*nce + nfl",
]


@pytest.fixture
def rows_are_many(monkeypatch, device):
    """As if every batch were a large one."""
    from noiseproof.kernels.triton import tile

    monkeypatch.setattr(tile, "MANY_ROWS", 1)
    tile.tile_of.cache_clear()
    yield device
    tile.tile_of.cache_clear()


@pytest.mark.parametrize("classes", [600, 1024, 1500, 2048])
@pytest.mark.parametrize("spec", SPECS)
def test_large_batches_are_read_in_blocks(spec, classes, rows_are_many):
    from noiseproof.kernels.triton.tile import tile_of

    logits, target = batch(4, classes)
    assert tile_of(classes, len(logits)).block < classes
    loss = losses.get(spec).eval()
    wanted, slope = step(loss, logits.double(), target)
    found, gradient = step(loss.to(rows_are_many), logits.to(rows_are_many), target.to(rows_are_many))
    assert float(found) == pytest.approx(float(wanted), rel=1e-4, abs=5e-6)
    assert row_error(gradient, slope, 1e-6) < 1e-5


@pytest.mark.parametrize("classes", [2, 100, 512, 513, 1000, 2048, 2049, 262144])
@pytest.mark.parametrize("rows", [1, 128, 1023, 1024, 8192])
def test_rows_are_taken_together_only_where_one_block_holds_them(rows, classes):
    from noiseproof.kernels.triton.tile import tile_of

    tile = tile_of(classes, rows)
    assert tile.rows == 1 or tile.block >= classes
    assert tile.rows * tile.block <= 2048
    assert (tile.block < classes) == (classes > 2048 or (classes > 512 and rows >= 1024))
