"""ELR+ against numpy: targets from the other network, mixed labels and the loss."""

import numpy as np
import pytest
import torch
from training_info import normal, training_info

from noiseproof.data import Batch
from noiseproof.methods import ELRPlus, Mixed, Outputs

LABEL = torch.arange(6) % 3
PARTNER = torch.tensor([2, 0, 1, 5, 3, 4])


def softmax(z):
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


@pytest.mark.parametrize("share", [0.5, 0.8, 1.0])
@pytest.mark.parametrize("refine", [False, True])
@pytest.mark.parametrize("ramp", [0, 4])
def test_loss_and_targets_match_numpy_over_several_epochs(share, refine, ramp):
    method = ELRPlus(beta=0.6, lam=2.0, ramp=ramp, refine=refine)
    method.prepare(training_info(LABEL))
    remembered = np.zeros((2, 6, 3))
    one_hot = np.eye(3)[LABEL.numpy()]
    for epoch in (1, 2, 3, 9):
        logits = [normal(6, 3, seed=10 * epoch + k).float() for k in range(2)]
        unmixed = [normal(6, 3, seed=10 * epoch + 5 + k).float() for k in range(2)]
        given = tuple(
            Outputs(z, extra=Mixed(PARTNER, share, u)) for z, u in zip(logits, unmixed, strict=True)
        )
        found = method.loss(given, Batch(torch.zeros(6, 1), LABEL, torch.arange(6)), epoch)
        wanted = 0.0
        for k in range(2):
            p = softmax(logits[k].double().numpy())
            remembered[k] = 0.6 * remembered[k] + 0.4 * softmax(unmixed[1 - k].double().numpy())
            t = share * remembered[k] + (1 - share) * remembered[k][PARTNER]
            q = share * one_hot + (1 - share) * one_hot[PARTNER]
            if refine:
                q = q * t / (q * t).sum(1, keepdims=True)
            factor = np.exp(-5 * (1 - min(epoch / 4, 1)) ** 2) if ramp else 1
            wanted += np.mean(-(q * np.log(p)).sum(1) + 2 * factor * np.log(1 - (t * p).sum(1)))
        assert float(found) == pytest.approx(wanted, rel=1e-5), epoch
    wanted_table = torch.from_numpy(remembered).transpose(0, 1).float()
    torch.testing.assert_close(method.memory.values, wanted_table)
    torch.testing.assert_close(
        method.final_outputs()["target"].float(), wanted_table.mean(1), atol=1e-3, rtol=0
    )
