import pytest
import torch
from sklearn.datasets import load_digits
from typer.testing import CliRunner

from noiseproof import losses
from noiseproof.cli.demo import LOSSES, NOISE, noisy_digits, train_and_test
from noiseproof.cli.main import app


def run(*words: str):
    return CliRunner().invoke(app, ["demo", *words], env={"COLUMNS": "120", "NO_COLOR": "1"})


def table(output: str) -> list[list[str]]:
    lines = [line.split("│")[1:4] for line in output.splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in line] for line in lines]


def true_labels(inputs: torch.Tensor) -> torch.Tensor:
    # found by the pixels, which no two digits share
    pixels, digits = load_digits(return_X_y=True)
    rows = (torch.tensor(pixels, dtype=torch.float32) / 16 - 0.3).numpy()
    known = {row.tobytes(): int(digit) for row, digit in zip(rows, digits, strict=True)}
    assert len(known) == len(digits)
    return torch.tensor([known[row.tobytes()] for row in inputs.numpy()])


@pytest.fixture(scope="module")
def short_demo():
    before = torch.get_rng_state()
    result = run("--seeds", "1", "--epochs", "2")
    return result, before, torch.get_rng_state()


def test_the_table_lists_every_loss(short_demo):
    result, _, _ = short_demo
    assert result.exit_code == 0, result.exception
    assert "Digits, 40% of the training labels wrong" in result.output
    rows = table(result.output)
    assert [row[0] for row in rows] == list(LOSSES)
    for _, accuracy, _ in rows:
        mean, spread = accuracy.split("±")
        assert 0 <= float(mean) <= 100
        assert float(spread) == 0


def test_cross_entropy_is_the_baseline(short_demo):
    rows = table(short_demo[0].output)
    found = {spec: (float(accuracy.split("±")[0]), float(against)) for spec, accuracy, against in rows}
    baseline, difference = found["ce"]
    assert difference == 0
    assert all(against == pytest.approx(mean - baseline, abs=0.11) for mean, against in found.values())


def test_the_demo_leaves_the_global_generator_alone(short_demo):
    _, before, after = short_demo
    assert torch.equal(before, after)


def test_the_demo_repeats_itself(short_demo):
    again = run("--seeds", "1", "--epochs", "2")
    assert table(again.output) == table(short_demo[0].output)


def test_more_seeds_give_a_spread(monkeypatch):
    monkeypatch.setattr("noiseproof.cli.demo.LOSSES", ("ce",))
    monkeypatch.setattr("noiseproof.cli.demo.train_and_test", lambda spec, seed, epochs: 80.0 + 2 * seed)
    assert "82.0 ± 2.0" in run("--seeds", "3").output


@pytest.mark.parametrize("words", [["--seeds", "0"], ["--epochs", "0"], ["--seeds", "x"]])
def test_senseless_sizes_are_refused(words):
    result = run(*words)
    assert result.exit_code == 2
    assert words[0] in result.output


def test_every_loss_of_the_demo_is_a_spec():
    assert [isinstance(losses.get(spec), losses.MarginLoss) for spec in LOSSES] == [True] * len(LOSSES)
    assert LOSSES[0] == "ce"


@pytest.fixture(scope="module")
def offsets():
    inputs, labels = zip(*[noisy_digits(seed)[:2] for seed in range(5)], strict=True)
    assert (inputs[0].shape, labels[0].shape) == ((1400, 64), (1400,))
    return (torch.cat(labels) - true_labels(torch.cat(inputs))) % 10


def test_two_fifths_of_the_training_labels_are_wrong(offsets):
    assert float((offsets != 0).float().mean()) == pytest.approx(NOISE, abs=0.02)


def test_wrong_labels_are_spread_over_the_other_classes(offsets):
    counts = torch.bincount(offsets, minlength=10)[1:].float()
    assert counts.min() > 0.8 * counts.mean()
    assert counts.max() < 1.2 * counts.mean()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_test_labels_are_never_touched(seed):
    _, _, inputs, labels = noisy_digits(seed)
    assert len(labels) == 397
    assert torch.equal(labels, true_labels(inputs))


def test_training_and_test_digits_do_not_overlap():
    train, _, test, _ = noisy_digits(0)
    rows = {row.tobytes() for row in train.numpy()} | {row.tobytes() for row in test.numpy()}
    assert len(rows) == len(train) + len(test) == 1797


def test_the_seed_settles_the_digits():
    first, again, other = noisy_digits(3), noisy_digits(3), noisy_digits(4)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first[1], other[1])


def test_noisy_digits_leave_the_global_generator_alone():
    before = torch.get_rng_state()
    noisy_digits(0)
    assert torch.equal(torch.get_rng_state(), before)


def test_training_learns_the_digits_and_repeats_itself():
    with torch.random.fork_rng(devices=[]):
        first = train_and_test("gce(q=0.7)", 0, 5)
        assert train_and_test("gce(q=0.7)", 0, 5) == first
    assert first > 60
