"""All methods: conformance checks, gradients of the loss, no use of clean labels."""

import pytest
import torch

from noiseproof.data import LabelledData
from noiseproof.methods import METHODS
from noiseproof.testing import METHOD_CHECKS
from noiseproof.testing.method_trial import EPOCHS, Trial

MATRIX = "(transition='symmetric(0.4)')"
DEFAULTS = [name + (MATRIX if name in ("forward", "backward") else "") for name in METHODS]
OTHER_SETTINGS = [
    "nal(start=2, period=1, threshold=0.5, renormalize=True, rce=0.3)",
    "nal(start=2, period=1, floor=0.0)",
    "selc(start=0)",
    "joint(start=1, average=2, hard=True, prior='given')",
    "truncated_gce(start=2, period=1, by='validation')",
    "self_paced(begin=0.3, end=0.9)",
    "mentornet_pd(burn_in=0.0, linear=0.2)",
    "d2l(k=3, start=0, window=2)",
    "sop(lr_u=100.0, lr_v=1000.0, scale=0.1)",
    "decoupling(warmup=30, least=1.0)",
    "co_teaching(noise_rate=0.3, gradual=5, exponent=0.5)",
    "elr_plus(beta=0.3, ramp=60, refine=True)",
    "divide_mix(warmup=30, lam=100.0, ramp=5, penalty=True)",
    "divide_mix(warmup=0, threshold=0.9)",
    "truncated_gce(start=1, period=1)",
    "forward(transition='symmetric(0.4)', rce=1.0)",
    "s_adaptation(transition='symmetric(0.4)')",
]
SPECS = [*DEFAULTS, *(pytest.param(spec, marks=pytest.mark.slow) for spec in OTHER_SETTINGS)]


@pytest.mark.parametrize("check", METHOD_CHECKS)
@pytest.mark.parametrize("spec", SPECS)
def test_conformance(spec, check):
    METHOD_CHECKS[check](Trial(spec))


@pytest.mark.parametrize("spec", SPECS)
def test_gradient_matches_finite_differences(spec):
    """In float64 with constant memory; the last weights of MentorNet are functions of the logits."""
    epoch = 30 if spec.startswith("mentornet_pd") else EPOCHS[-1]
    trial = Trial(spec)
    method = trial.make()
    for _ in trial.run(method):
        pass
    method.eval()
    batch = trial.batch(EPOCHS[-1], 0)
    outputs = trial.outputs(method, batch, 1)

    def value(*logits):
        pairs = zip(outputs, logits, strict=True)
        return method.loss(tuple(one._replace(logits=its) for one, its in pairs), batch, epoch)

    logits = tuple(one.logits.double().requires_grad_() for one in outputs)
    assert torch.autograd.gradcheck(value, logits, eps=1e-6, atol=1e-6)


TRAINED = [
    "nal(start=1, period=1)",
    "elr",
    "selc(start=0)",
    "joint(start=1)",
    "truncated_gce(start=1, period=1)",
    "co_teaching(noise_rate=0.4, gradual=1)",
    "elr_plus",
    "divide_mix(warmup=1)",
]


@pytest.mark.parametrize("spec", TRAINED)
def test_clean_labels_change_no_weight(tmp_path, spec):
    from noiseproof.train import Config, fit

    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(48, 6, generator=generator)
    label, clean = torch.randint(3, (2, 48), generator=generator)
    weights = []
    for name, truth in (("one", clean), ("two", clean.flip(0)), ("none", None)):
        data = LabelledData(inputs, label, clean_label=truth, class_names=("a", "b", "c"))
        config = Config(
            method=spec, model="mlp", epochs=3, batch_size=16, device="cpu", out=str(tmp_path / name)
        )
        weights.append(fit(config, data=data).load_model().state_dict())
    for other in weights[1:]:
        assert all(torch.equal(weights[0][key], other[key]) for key in weights[0])
