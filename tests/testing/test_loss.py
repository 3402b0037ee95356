"""The conformance suite must catch broken losses: each mutant fails the check it should fail."""

import pytest
import torch

from noiseproof.kernels import Partials, Wanted
from noiseproof.losses import MarginLoss, Scale
from noiseproof.losses.ce import CE
from noiseproof.losses.nce import NCE
from noiseproof.losses.statistics_loss import StatisticsLoss
from noiseproof.testing import LOSS_CHECKS, check_loss
from noiseproof.testing.problem import problem


class WrongEmphasis(CE):
    def emphasis(self, margin):
        return 2 * super().emphasis(margin)


class Underflows(MarginLoss):
    name = "underflows"

    def value(self, margin):
        return -torch.sigmoid(margin).log()

    def emphasis(self, margin):
        return 1 - torch.sigmoid(margin)


class Negative(CE):
    def emphasis(self, margin):
        return super().emphasis(margin) - 0.1

    def value(self, margin):
        return super().value(margin) + 0.1 * margin


class ForgetsToIgnore(NCE):
    def hard_rows(self, rows):
        return super().hard_rows(rows._replace(keep=None))


class ReducesTwice(CE):
    def _reduce(self, values, rows, weight, sample_weight):
        return super()._reduce(values, rows, weight, sample_weight).mean()


class EndsFarAway(CE):
    def emphasis(self, margin):
        return super().emphasis(margin) * (margin > -32)


class Shifts(StatisticsLoss):
    name = "shifts"
    wanted = Wanted()

    def value_and_partials(self, row, classes):
        value = torch.nn.functional.softplus(-row.margin) + 0.1 * row.logsumexp
        return value, Partials(margin=-torch.sigmoid(-row.margin), logsumexp=0.1 * torch.ones_like(value))

    def class_rows(self, logits, mass):
        log_p = logits.log_softmax(1)
        return -log_p + 0.1 * logits.logsumexp(1, keepdim=True)


class Own(MarginLoss):
    def value(self, margin):
        return torch.sigmoid(-margin)

    def emphasis(self, margin):
        return torch.sigmoid(margin) * torch.sigmoid(-margin)


class Unprintable(CE):
    def __str__(self):
        return "nonsense"


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (WrongEmphasis, "emphasis is minus the derivative"),
        (Negative, "emphasis is not negative"),
        (Underflows, "finite at extreme margins"),
        (ForgetsToIgnore, "ignored rows change nothing"),
        (ReducesTwice, "backward twice|reductions"),
        (EndsFarAway, "emphasis is minus the derivative"),
        (Shifts, "a number added to all logits of a row changes nothing"),
        (Unprintable, "pickle, deepcopy, state_dict, spec"),
    ],
)
def test_mutants_are_caught(broken, check, monkeypatch):
    """The check of torch.compile is left out, since it takes a second."""
    monkeypatch.delitem(LOSS_CHECKS, "torch.compile keeps one graph")
    with pytest.raises(AssertionError, match=check):
        check_loss(broken())


def test_error_names_the_loss():
    with pytest.raises(AssertionError, match=r"^ce: "):
        check_loss(WrongEmphasis())


def test_valid_losses_pass():
    check_loss("sl")
    check_loss(Scale("gce", tau=3.0))


def test_unregistered_loss_passes():
    check_loss(Own())


def test_binary_loss_raises_an_error():
    with pytest.raises(TypeError, match="check the inner loss"):
        check_loss("binary(ce)")


def test_checks_run_on_the_given_device(monkeypatch):
    found = []

    def look(loss):
        logits, target = problem()
        found.extend(place.device.type for place in (logits, target, torch.ones(1), loss.weight))

    monkeypatch.setattr("noiseproof.testing.loss.LOSS_CHECKS", {"look": look})
    check_loss(CE(weight=torch.ones(5)), device="meta")
    assert found == ["meta"] * 4
    assert torch.ones(1).device.type == "cpu"
