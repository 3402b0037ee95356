"""Methods with a memory raise an error if the user's own loop runs in several processes."""

import pytest
import torch
from torch import distributed
from torch.testing._internal.distributed.fake_pg import FakeStore
from training_info import training_info

from noiseproof import methods
from noiseproof.data import Batch
from noiseproof.methods import OneProcessError, Outputs
from noiseproof.processes import same_rows

REFUSED = ("elr", "selc", "joint", "nal", "s_adaptation", "truncated_gce")


@pytest.fixture(params=[1, 2])
def processes(request):
    """The size of a fake process group."""
    distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=request.param)
    yield request.param
    distributed.destroy_process_group()


@pytest.mark.filterwarnings("ignore:.* is never active")
@pytest.mark.parametrize("name", [*REFUSED, "bootstrap_soft", "bootstrap_hard", "gls_sl"])
def test_only_methods_with_memory_reject_several_processes(processes, name):
    index = torch.arange(4)
    outputs = (Outputs(torch.zeros(4, 3, requires_grad=True), torch.zeros(4, 5)),)

    def prepared():
        method = methods.get(name)
        method.prepare(training_info(index % 3, classes=3, features=5))
        return method

    calls = [lambda: prepared().loss(outputs, Batch(torch.zeros(4, 1), index % 3, index), 1)]
    if not methods.get(name).needs_features:
        calls.append(lambda: prepared().step(outputs[0].logits, index % 3, index, 1))
    for call in calls:
        if processes > 1 and name in REFUSED:
            words = f"{name} cannot be used in 2 processes of torch.distributed in .*use train.fit"
            with pytest.raises(OneProcessError, match=words):
                call()
        else:
            call().backward()
    with same_rows():
        calls[0]().backward()
