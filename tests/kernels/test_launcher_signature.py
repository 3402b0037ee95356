"""What is passed to a compiled kernel: compared with what the driver says it takes."""

import struct
from types import SimpleNamespace

import pytest
import torch

from noiseproof.kernels.launcher import signature
from noiseproof.kernels.launcher.signature import UnfitError, passed
from noiseproof.kernels.triton.start import Heard

KINDS = {
    "logits": "*fp32",
    "rows": "i32",
    "stride": "constexpr",
    "alpha": "fp32",
    "far": "i64",
    "SLOTS": "constexpr",
}
LOGITS = torch.zeros(2, 3)
ARGUMENTS = (LOGITS, 2, 1, 0.5, 1 << 40, (0, -1))


def heard(kinds=KINDS, **changes):
    usual = {"num_warps": 4, "shared": 16, "num_ctas": 1, "global_scratch_size": 0, "launch_pdl": False}
    about = SimpleNamespace(**(usual | changes), target=SimpleNamespace(warp_size=32))
    compiled = SimpleNamespace(metadata=about, src=SimpleNamespace(signature=kinds), function=77)
    return Heard(compiled, (5, 1, 1), ARGUMENTS)


@pytest.mark.parametrize("more", [[], [8], [8, 8]])
def test_constants_are_left_out_and_scratch_is_nothing(more, monkeypatch):
    monkeypatch.setattr(signature, "sizes_of_parameters", lambda function: [8, 4, 4, 8, *more])
    head, arguments = passed(heard())
    assert head == [77, 5, 1, 1, 128, 16]
    assert arguments[0] is LOGITS
    half = int.from_bytes(struct.pack("<f", 0.5), "little")
    assert arguments[1:] == [2, half, 1 << 40, *[0] * len(more)]


@pytest.mark.parametrize(
    "sizes", [[8, 4, 4], [8, 4, 8, 8], [8, 4, 4, 8, 4], [8, 4, 4, 8, 8, 8, 8], []], ids=str
)
def test_what_the_driver_does_not_confirm_is_refused(sizes, monkeypatch):
    monkeypatch.setattr(signature, "sizes_of_parameters", lambda function: sizes)
    with pytest.raises(UnfitError):
        passed(heard())


@pytest.mark.parametrize(
    "change", [{"num_ctas": 2}, {"global_scratch_size": 8}, {"launch_pdl": True}, {"profile_scratch_size": 1}]
)
def test_launches_that_need_more_are_refused(change, monkeypatch):
    monkeypatch.setattr(signature, "sizes_of_parameters", lambda function: [8, 4, 4, 8])
    with pytest.raises(UnfitError):
        passed(heard(**change))


def test_types_that_are_not_known_are_refused(monkeypatch):
    monkeypatch.setattr(signature, "sizes_of_parameters", lambda function: [8, 4, 4, 8])
    with pytest.raises(UnfitError):
        passed(heard(kinds=KINDS | {"alpha": "fp64"}))


def test_without_a_driver_nothing_is_launched(monkeypatch):
    monkeypatch.setattr(signature, "DRIVER", "no-such-library.so")
    signature._driver.cache_clear()
    with pytest.raises(UnfitError):
        passed(heard())
