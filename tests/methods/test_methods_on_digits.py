"""Methods on digits with 40% wrong labels: more accurate than ce, fewer memorised labels."""

import warnings

import pytest

from noiseproof.train import Config, fit

pytestmark = pytest.mark.slow
SETTINGS = {
    "self-paced": {"method": "self_paced(end=0.6)"},
    "mentornet": {"method": "mentornet_pd(percentile=0.6)"},
    "d2l": {"method": "d2l(start=2, window=3)"},
    "sop": {"method": "sop(lr_v=1000.0)"},
    "pruned by validation": {
        "method": "truncated_gce(start=10, period=5, by='validation')",
        "validation": 0.15,
    },
    "co-teaching": {"method": "co_teaching(noise_rate=0.4)"},
    "co-teaching without a rate": {"method": "co_teaching", "validation": 0.15},
    "decoupling": {"method": "decoupling"},
    "elr+": {"method": "elr_plus"},
    "dividemix": {"method": "divide_mix(warmup=6)"},
    "mixup": {"mixup": 1.0},
    "forgetting": {"dropout": 0.8},
}


def trained(folder, **settings):
    config = Config(
        data="digits",
        noise="symmetric(0.4)",
        model="mlp(norm=True)",
        lr=0.01,
        epochs=30,
        evaluate_every=30,
        out=str(folder),
        **settings,
    )
    result = fit(config).result
    return result["final_test_accuracy"], result["train"]["noisy_subset"]


@pytest.fixture(scope="module")
def cross_entropy(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("ce") / "run")


@pytest.mark.parametrize("name", SETTINGS)
def test_method_is_more_accurate_than_cross_entropy_and_memorises_less(tmp_path, cross_entropy, name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        accuracy, memorised = trained(tmp_path / "run", **SETTINGS[name])
    assert accuracy > cross_entropy[0] + 0.04
    assert memorised < cross_entropy[1] * (2 / 3 if name == "decoupling" else 1 / 3)
