"""Small networks use one thread unless the user has set a number; it is restored afterwards."""

import pytest
import torch
from torch import nn

from noiseproof import models
from noiseproof.devices import device
from noiseproof.devices.device import is_small, suitable_threads
from noiseproof.train import Watcher, fit

CPU = torch.device("cpu")


@pytest.fixture
def three_threads(monkeypatch):
    """Three threads by default, none set by the user."""
    before = torch.get_num_threads()
    for name in device.THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(device, "_default_threads", 3)
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


class Counting(Watcher):
    def __init__(self):
        self.threads = set()

    def step(self, done):
        self.threads.add(torch.get_num_threads())


def test_small_network_trains_with_one_thread(config, blobs, three_threads):
    watcher = Counting()
    run = fit(config(), data=blobs(), watcher=watcher)
    assert watcher.threads == {1}
    assert torch.get_num_threads() == 3
    assert run.manifest["environment"]["threads"] == 1


def test_thread_count_is_restored_after_an_error(config, blobs, three_threads):
    class Broken(Watcher):
        def step(self, done):
            raise OSError("broken")

    with pytest.raises(OSError, match="broken"):
        fit(config(), data=blobs(), watcher=Broken())
    assert torch.get_num_threads() == 3


@pytest.mark.parametrize("chosen", ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "torch"])
def test_thread_count_of_the_user_is_kept(config, blobs, three_threads, monkeypatch, chosen):
    if chosen == "torch":
        torch.set_num_threads(2)
    else:
        monkeypatch.setenv(chosen, "3")
    number, watcher = torch.get_num_threads(), Counting()
    fit(config(epochs=1), data=blobs(), watcher=watcher)
    assert watcher.threads == {number}
    assert torch.get_num_threads() == number


def test_share_threads_is_not_a_setting_of_the_user(config, blobs, three_threads):
    device.share_threads(2)
    watcher = Counting()
    fit(config(epochs=1), data=blobs(), watcher=watcher)
    assert watcher.threads == {1}


@pytest.mark.parametrize(
    ("spec", "shape", "small"),
    [
        ("mlp", (36,), True),
        ("mlp", (8, 8), True),
        ("mlp(hidden='4096,4096')", (36,), False),
        ("cnn4", (1, 28, 28), False),
    ],
)
def test_is_small(spec, shape, small):
    size = {} if len(shape) == 1 else {"image_size": shape[-2:]}
    channels = shape[0] if len(shape) in (1, 3) else 1
    network = models.get(spec, num_classes=6, in_channels=channels, **size)
    assert is_small(network, shape, 128) == small


def test_networks_that_use_a_weight_more_than_once_are_not_small():
    assert not is_small(nn.Linear(4, 3), (3, 8, 8), 128)
    assert not is_small(nn.Sequential(nn.Conv1d(1, 2, 3), nn.Flatten()), (8,), 4)


def test_other_devices_keep_their_threads(three_threads):
    with suitable_threads(nn.Linear(2, 2), (2,), 8, torch.device("meta")):
        assert torch.get_num_threads() == 3
