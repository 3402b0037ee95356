"""The conformance suite must catch broken methods: each mutant fails the check it should fail."""

import pytest
import torch
from torch import nn

from noiseproof.methods import ELR, SELC, BootstrapSoft, Method
from noiseproof.testing import check_method


class Forgets(ELR):
    """The memory is not a persistent buffer, so checkpoints do not contain it."""

    def create_table(self, training_info, values):
        super().create_table(training_info, values)
        self.table.register_buffer("values", values, persistent=False)


class FirstListed(BootstrapSoft):
    """The loss depends on which sample is the first of the training data."""

    def prepare(self, training_info):
        self.first = training_info.index[0]

    def loss(self, outputs, batch, epoch):
        favoured = outputs[0].logits.square().mean(1) * (batch.index == self.first)
        return super().loss(outputs, batch, epoch) + favoured.sum()


class LooksAtOrder(BootstrapSoft):
    """The loss depends on which sample is the first of a batch."""

    def loss(self, outputs, batch, epoch):
        return super().loss(outputs, batch, epoch) + outputs[0].logits[0].square().mean()


class Underflows(Method):
    name = "underflows"

    def loss(self, outputs, batch, epoch):
        p = outputs[0].logits.softmax(1)
        return -p.gather(1, batch.label.unsqueeze(1)).log().mean()


class LearnsAlways(SELC):
    """Updates its targets also in evaluation mode."""

    def loss(self, outputs, batch, epoch):
        self.memory.write(batch.index, self.updated_targets(batch.index, outputs[0].logits.softmax(1), 0.9))
        return super().loss(outputs, batch, epoch)


class Undeclared(BootstrapSoft):
    def observed(self):
        return {"secret": torch.zeros(6)}


class Waits(BootstrapSoft):
    def loss(self, outputs, batch, epoch):
        loss = super().loss(outputs, batch, epoch)
        return loss * (1 if loss.isfinite() else 0)


class Masks(BootstrapSoft):
    def loss(self, outputs, batch, epoch):
        found = super().loss(outputs, batch, epoch)
        return found + 0 * outputs[0].logits[batch.label > 0].sum()


class Grows(BootstrapSoft):
    """Declares that all epochs have equal steps, but the loss depends on the epoch."""

    def loss(self, outputs, batch, epoch):
        return epoch * super().loss(outputs, batch, epoch)


class RenewsLate(SELC):
    """The declared phase begins one epoch before the loss changes."""

    def loss(self, outputs, batch, epoch):
        return super().loss(outputs, batch, epoch - (epoch == self.start + 1))


class Draws(BootstrapSoft):
    """The weights of its head are drawn from the global random state."""

    def prepare(self, training_info):
        self.head = nn.Linear(training_info.num_classes, 1)

    def loss(self, outputs, batch, epoch):
        return super().loss(outputs, batch, epoch) + self.head(outputs[0].logits).mean()


class Misprinted(BootstrapSoft):
    def __str__(self):
        return "bootstrap_soft(beta=0.5)"


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (Forgets(), "resume"),
        (FirstListed(), "order of the training data"),
        (LooksAtOrder(), "order in a batch"),
        (Underflows(), "finite"),
        (LearnsAlways(start=0), "evaluation mode"),
        (Undeclared(), "columns"),
        (Waits(), "no waiting for the device: _local_scalar_dense"),
        (Masks(), "no waiting for the device: index with a mask"),
        (Grows(), "phases: epochs 1 and 2 are phase 'always', and differ"),
        (RenewsLate(start=30), "phases: epochs 31 and 40 are phase True"),
        (Draws(), "resume|order of the training data|order in a batch|global random state"),
        (Misprinted(), "spec"),
    ],
)
def test_mutants_are_caught(broken, check):
    with pytest.raises(AssertionError, match=rf"^{broken.name}.*: ({check})"):
        check_method(broken)


def test_valid_method_passes_and_is_not_changed():
    method = ELR(beta=0.5)
    check_method(method)
    assert method.table is None


def test_check_method_accepts_a_spec():
    check_method("truncated_gce(start=1, period=1)")
    with pytest.raises(ValueError, match="unknown method"):
        check_method("erl")
