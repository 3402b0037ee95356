"""CUDA graphs give the same numbers as plain steps, in one run and in several at the same time."""

import pytest
import torch
from stopping import StopAt

from noiseproof import losses
from noiseproof.train import Config, Interrupted, compare, fit
from noiseproof.train.comparison.streams import can_share

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
LOOPS = ("plain", "graph")
SETTINGS = {
    "momentum": {},
    "decay, clip": {"weight_decay": 0.1, "clip": 0.05, "schedule": "cosine(by='iteration')"},
    "nesterov": {"optimizer": "sgd(nesterov=True)"},
    "no momentum": {"momentum": 0.0},
    "adam": {"optimizer": "adam", "lr": 0.01},
    "adamw": {"optimizer": "adamw", "lr": 0.01},
    "odd last batch": {"batch_size": 13},
    "batch norm": {"model": "mlp(hidden=8, norm=True)"},
    "views": {"augment": "flip"},
    "nal": {"method": "nal(start=2, period=1)"},
    "elr": {"method": "elr"},
    "selc": {"method": "selc(start=1)"},
    "joint": {"method": "joint(start=1, average=2)"},
    "truncated": {"method": "truncated_gce(start=2, period=2)"},
    "pruned": {"method": "truncated_gce(start=2, period=1, by='validation')", "validation": 0.25},
    "self-paced": {"method": "self_paced(warmup=1, growth=0.1)"},
    "mentornet": {"method": "mentornet_pd(burn_in=0.3, linear=0.6)"},
    "d2l": {"method": "d2l(k=3, start=0, window=2)", "epochs": 6},
    "sop": {"method": "sop(lr_v=1000.0)"},
    "s_adaptation": {"method": "s_adaptation"},
    **{
        name: {"loss": f"{name}(ce)" if name in ("cr", "peer", "scale", "shift", "unit_max") else name}
        for name in losses.LOSSES
        if name != "binary"
    },
}
SETTINGS |= {name: {"loss": f"{name}(mae, tau=2.0)"} for name in ("scale", "shift")}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_graph_steps_equal_plain_steps(config, blobs, tmp_path, settings):
    data = blobs(wrong=9, shape=(1, 2, 2))
    ways = {
        loop: config(**settings, device="cuda", loop=loop, out=str(tmp_path / loop))
        for loop in ("plain", "graph")
    }
    runs = [fit(way, data=data, test=blobs(seed=1, shape=(1, 2, 2))) for way in ways.values()]
    torch.testing.assert_close(*(run.load_model().state_dict() for run in runs), rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(*(run.record.margin for run in runs), rtol=1e-2, atol=1e-2)
    for first, second in zip(*(run.metrics for run in runs), strict=True):
        assert first["lr"] == second["lr"]
        assert second["alpha"] == pytest.approx(first["alpha"], rel=1e-3)
        assert second["loss"] == pytest.approx(first["loss"], rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("model", ["cnn4", "resnet20"])
def test_resumed_run_on_images_has_high_accuracy(tmp_path, model, precision):
    settled = Config(
        model=model,
        precision=precision,
        augment="crop(padding=1)",
        epochs=4,
        lr=0.05,
        device="cuda",
        loop="graph",
        out=str(tmp_path / "run"),
    )
    with pytest.raises(Interrupted):
        fit(settled, watcher=StopAt(15))
    run = fit(settled)
    assert run.result["final_test_accuracy"] > 0.9


def test_mean_accuracy_over_seeds_equals_the_plain_loop(tmp_path):
    found = {}
    for loop in ("plain", "graph"):
        runs = [
            Config(
                noise="symmetric(0.4)",
                loss="gce",
                epochs=12,
                lr=0.1,
                precision="bf16",
                model="cnn4",
                seed=seed,
                noise_seed=0,
                device="cuda",
                loop=loop,
                out=str(tmp_path / f"{loop}{seed}"),
            )
            for seed in range(10)
        ]
        outcomes = compare(runs).outcomes
        assert [outcome.problem for outcome in outcomes] == [None] * 10
        found[loop] = torch.tensor([outcome.result["final_test_accuracy"] for outcome in outcomes])
    plain, graph = found["plain"], found["graph"]
    error = float((plain.var() / 10 + graph.var() / 10).sqrt())
    assert abs(float(plain.mean() - graph.mean())) <= 3.5 * error + 0.002


def test_runs_sharing_a_gpu_equal_single_runs(tmp_path):
    names = ["ce", "mae", "gce", "nce", "imae", "sl"]
    shared = {"epochs": 4, "device": "cuda", "noise": "symmetric(0.4)"}
    beside = [Config(loss=name, out=str(tmp_path / f"beside {name}"), **shared) for name in names]
    assert all(map(can_share, beside))
    outcomes = compare(beside, jobs=6).outcomes
    assert [outcome.problem for outcome in outcomes] == [None] * 6
    for config, outcome in zip(beside, outcomes, strict=True):
        alone = fit(config.replace(out=str(tmp_path / f"alone {config.loss}")))
        assert outcome.result["final_test_accuracy"] == pytest.approx(
            alone.result["final_test_accuracy"], abs=0.02
        )
        assert outcome.result["alpha"] == pytest.approx(alone.result["alpha"], rel=1e-2)


def test_loss_with_device_synchronization_falls_back_to_plain_steps(tmp_path, blobs, config):
    seen = []

    def waits(p, q):
        seen.append(float(p.detach().sum()))
        return q

    losses.register("waiting_for_a_number", lambda: losses.MarginLoss.from_emphasis(waits, name="waiting"))
    try:
        with pytest.warns(UserWarning, match="training continues without CUDA graphs"):
            run = fit(config(loss="waiting_for_a_number", device="cuda"), data=blobs())
        assert run.finished
    finally:
        del losses.LOSSES["waiting_for_a_number"]
    assert seen
    torch.rand(1, device="cuda")
    torch.cuda.empty_cache()
    assert fit(config(device="cuda", loop="graph", out=str(tmp_path / "after")), data=blobs()).finished


def test_more_graphs_than_cuda_streams(tmp_path):
    """Two runs with many phases and a smaller last batch, and two others: more than 40 graphs."""
    shared = {"epochs": 12, "device": "cuda", "noise": "symmetric(0.4)", "batch_size": 100}
    joint = [
        Config(method="joint(start=1, average=10)", seed=seed, out=str(tmp_path / f"joint {seed}"), **shared)
        for seed in range(2)
    ]
    others = [Config(loss=name, out=str(tmp_path / name), **shared) for name in ("ce", "mae")]
    outcomes = compare([*joint, *others], jobs=4).outcomes
    assert [outcome.problem for outcome in outcomes] == [None] * 4
    alone = fit(joint[0].replace(out=str(tmp_path / "alone")))
    assert outcomes[0].result["final_test_accuracy"] == pytest.approx(
        alone.result["final_test_accuracy"], abs=0.03
    )


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs a second GPU")
def test_training_on_a_gpu_that_is_not_current(tmp_path):
    run = fit(Config(device="cuda:1", loop="graph", epochs=4, lr=0.05, out=str(tmp_path / "run")))
    assert run.result["final_test_accuracy"] > 0.8
