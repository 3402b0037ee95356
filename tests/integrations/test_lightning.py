"""The record of Lightning training steps, in one process and in two."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

pytest.importorskip("lightning", reason="lightning is not installed: make test-integrations")
pytestmark = pytest.mark.filterwarnings("default")

EXAMPLE = Path(__file__).parents[2] / "examples/lightning_callback.py"
SAMPLES, CLASSES = 30, 3


@pytest.fixture
def lightning():
    import lightning

    return lightning


@pytest.fixture
def module(lightning):
    class Module(lightning.LightningModule):
        """A module that keeps its logits, to compare the record with."""

        def __init__(self):
            super().__init__()
            self.layer, self.said = torch.nn.Linear(4, CLASSES), []

        def training_step(self, batch, batch_idx):
            index, rows, label = batch
            logits = self.layer(rows)
            self.said.append((self.current_epoch, index, logits.detach().clone()))
            loss = torch.nn.functional.cross_entropy(logits, label)
            return {"loss": loss, "index": index, "logits": logits, "label": label}

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    return Module


@pytest.fixture
def loader():
    generator = torch.Generator().manual_seed(0)
    label = torch.arange(SAMPLES) % CLASSES
    data = torch.utils.data.TensorDataset(
        torch.arange(SAMPLES), torch.randn(SAMPLES, 4, generator=generator), label
    )
    return torch.utils.data.DataLoader(data, batch_size=7)


@pytest.fixture
def fit(lightning, tmp_path):
    def run(module, loader, callback, epochs, resume=None):
        trainer = lightning.Trainer(
            max_epochs=epochs,
            callbacks=[callback],
            accelerator="cpu",
            logger=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=tmp_path,
        )
        trainer.fit(module, loader, ckpt_path=resume)
        return trainer

    return run


def callback_of(**options):
    from noiseproof.integrations.lightning import RecordCallback

    return RecordCallback(SAMPLES, **options)


def test_record_equals_outputs_of_training_steps(module, loader, fit):
    from noiseproof import losses

    callback, network = callback_of(), module()
    fit(network, loader, callback, epochs=3)
    record = callback.record()
    assert (record.epochs, len(record)) == (3, SAMPLES)
    for epoch, index, logits in network.said:
        assert torch.equal(record.prediction[epoch, index].long(), logits.argmax(1))
        wanted = losses.margin(logits, record.label[index])
        torch.testing.assert_close(record.margin[epoch, index].float(), wanted, atol=2e-3, rtol=1e-3)
    assert list(callback.find().index) == list(range(SAMPLES))


def test_checkpoint_contains_the_record(module, loader, fit, tmp_path):
    torch.manual_seed(0)
    network = module()
    whole, first, second = callback_of(), callback_of(), callback_of()
    start = {name: value.clone() for name, value in network.state_dict().items()}
    fit(network, loader, whole, epochs=4)
    network.load_state_dict(start)
    fit(network, loader, first, epochs=2).save_checkpoint(tmp_path / "half.ckpt")
    fit(module(), loader, second, epochs=4, resume=tmp_path / "half.ckpt")
    assert torch.equal(second.record().margin, whole.record().margin)
    assert torch.equal(second.record().prediction, whole.record().prediction)


def test_read_argument_selects_outputs(module, loader, fit):
    callback = callback_of(read=lambda outputs, batch: (batch[0], outputs["logits"], batch[2]))
    fit(module(), loader, callback, epochs=1)
    assert len(callback.record()) == SAMPLES


def test_training_step_without_logits_raises_an_error(module, loader, fit):
    class Usual(module):
        def training_step(self, batch, batch_idx):
            return super().training_step(batch, batch_idx)["loss"]

    with pytest.raises(ValueError, match=r"must return a dict with loss, index, logits, label.*read=lambda"):
        fit(Usual(), loader, callback_of(), epochs=1)


@pytest.mark.parametrize("devices", [1, 2])
def test_lightning_example_runs(devices, tmp_path):
    """With two processes every sample is recorded in every epoch, none twice."""
    from noiseproof.dynamics import Record

    command = [sys.executable, EXAMPLE, "--devices", str(devices), "--epochs", "4", "--out", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    assert "suspects" in done.stdout
    record = Record.load(tmp_path)
    assert torch.equal(record.index, torch.arange(len(record)))
    assert record.epochs == 4
    assert not record.margin.isnan().any()
