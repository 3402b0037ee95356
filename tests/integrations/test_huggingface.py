"""Hugging Face Trainer: gradient accumulation, several tasks, the record, and language models."""

import runpy
import sys
from pathlib import Path

import pytest
import torch

pytest.importorskip("transformers", reason="transformers is not installed: make test-integrations")
pytest.importorskip("accelerate", reason="accelerate is not installed: make test-integrations")
pytest.importorskip("datasets", reason="datasets is not installed: make test-integrations")
pytestmark = pytest.mark.filterwarnings("default")

EXAMPLES = Path(__file__).parents[2] / "examples"
SAMPLES, CLASSES, LENGTH, WORDS = 16, 3, 6, 40


@pytest.fixture
def hf():
    from noiseproof.integrations import huggingface

    return huggingface


def tiny(kind, **options):
    """An untrained model of one layer without dropout."""
    import transformers

    torch.manual_seed(0)
    if kind == "CausalLM":
        config = transformers.LlamaConfig(
            vocab_size=WORDS,
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            tie_word_embeddings=False,
            **options,
        )
        return transformers.LlamaForCausalLM(config)
    config = transformers.BertConfig(
        vocab_size=WORDS,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        num_labels=CLASSES,
        **options,
    )
    return getattr(transformers, f"BertFor{kind}")(config)


def rows(kind, samples=SAMPLES):
    """Padded sentences of different lengths; the labels of padding are -100."""
    import datasets

    generator = torch.Generator().manual_seed(1)
    words = torch.randint(1, WORDS, (samples, LENGTH), generator=generator)
    length = 2 + torch.arange(samples) % (LENGTH - 1)
    is_word = torch.arange(LENGTH) < length.unsqueeze(1)
    label = words[:, 0] % CLASSES
    if kind == "TokenClassification":
        label = torch.where(is_word, words % CLASSES, -100)
    elif kind == "CausalLM":
        label = torch.where(is_word, words, -100)
    elif kind == "multi-label":
        label = torch.stack([words[:, 0] % 2, words[:, 1] % 2, words[:, 0] % 3 // 2], 1).float()
    return datasets.Dataset.from_dict(
        {
            "input_ids": torch.where(is_word, words, 0).tolist(),
            "attention_mask": is_word.long().tolist(),
            "labels": label.tolist(),
            "index": list(range(samples)),
        }
    )


def train_model(model, data, folder, *, batch=16, accumulation=1, epochs=1, optimizer=True, **options):
    """Return a Trainer after training by SGD in the order of the data."""
    import transformers

    class InOrder(transformers.Trainer):
        def _get_train_sampler(self, *args, **more):
            return torch.utils.data.SequentialSampler(self.train_dataset)

    settings = transformers.TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=batch,
        gradient_accumulation_steps=accumulation,
        num_train_epochs=epochs,
        max_grad_norm=0.0,
        lr_scheduler_type="constant",
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
        save_strategy="epoch",
    )
    resume = options.pop("resume", None)
    if optimizer:
        options["optimizers"] = (torch.optim.SGD(model.parameters(), lr=0.1), None)
    trainer = InOrder(model, settings, train_dataset=data, **options)
    trainer.train(resume_from_checkpoint=resume)
    return trainer


def weights(model):
    return torch.cat([weight.detach().flatten() for weight in model.parameters()])


TASKS = [
    ("SequenceClassification", "gce(q=0.7)", {}),
    ("TokenClassification", "gce(q=0.7)", {}),
    ("CausalLM", "gce(q=0.3)", {}),
    ("multi-label", "binary(gce(q=0.7))", {"problem_type": "multi_label_classification"}),
]


@pytest.mark.parametrize(("task", "spec", "options"), TASKS)
def test_gradient_accumulation_equals_one_batch(hf, task, spec, options, tmp_path):
    """4 batches of 4, with different numbers of labels, give the weights of one batch of 16."""
    kind = "SequenceClassification" if task == "multi-label" else task
    found = []
    for batch, accumulation in ((16, 1), (4, 4)):
        model = tiny(kind, **options)
        loss = hf.compute_loss(spec, causal=task == "CausalLM")
        train_model(
            model, rows(task), tmp_path, batch=batch, accumulation=accumulation, compute_loss_func=loss
        )
        found.append(weights(model))
    torch.testing.assert_close(found[0], found[1], atol=1e-6, rtol=1e-5)
    assert (found[0] - weights(tiny(kind, **options))).abs().max() > 1e-4


def test_accumulated_means_without_the_adapter_are_four_times_as_large(hf, tmp_path):
    """Compare ``compute_loss`` with the same loss without the adapter."""
    from noiseproof import losses

    moved, loss = [], losses.get("ce")
    for func in (
        hf.compute_loss("ce"),
        lambda outputs, labels, num_items_in_batch=None: loss(outputs.logits, labels),
    ):
        model = tiny("SequenceClassification")
        train_model(
            model, rows("SequenceClassification"), tmp_path, batch=4, accumulation=4, compute_loss_func=func
        )
        moved.append((weights(model) - weights(tiny("SequenceClassification"))).norm())
    assert 3 < moved[1] / moved[0] < 5


def test_cross_entropy_equals_the_loss_of_trainer(hf, tmp_path):
    found = []
    for options in ({}, {"compute_loss_func": hf.compute_loss("ce")}):
        model = tiny("TokenClassification")
        train_model(model, rows("TokenClassification"), tmp_path, **options)
        found.append(weights(model))
    torch.testing.assert_close(found[0], found[1], atol=1e-6, rtol=1e-5)


def test_record_of_sequence_classification(hf, tmp_path):
    """Recorded predictions equal those of the logits, also in a resumed run."""
    said = []

    class CollectingCallback(hf.RecordCallback):
        def compute_loss(self, outputs, labels, num_items_in_batch=None):
            said.append((outputs.logits.detach().clone(), labels))
            return super().compute_loss(outputs, labels, num_items_in_batch)

    data, records = rows("SequenceClassification"), []
    for epochs, resume, folder in (
        (3, None, "a"),
        (2, None, "b"),
        (3, str(tmp_path / "b/checkpoint-8"), "b"),
    ):
        said.clear()
        callback = CollectingCallback(SAMPLES)
        train_model(
            tiny("SequenceClassification"),
            data,
            tmp_path / folder,
            batch=4,
            epochs=epochs,
            optimizer=False,
            compute_loss_func=callback.compute_loss,
            callbacks=[callback],
            resume=resume,
        )
        records.append(callback.record())
    whole, _, resumed = records
    assert whole.epochs == 3
    assert torch.equal(whole.margin, resumed.margin)
    assert torch.equal(whole.prediction, resumed.prediction)
    last = torch.cat([logits for logits, _ in said])
    assert torch.equal(resumed.prediction[-1].long(), last.argmax(1))
    assert whole.class_names == ("LABEL_0", "LABEL_1", "LABEL_2")
    assert list(callback.find().index) == list(range(SAMPLES))


def test_record_of_tokens_excludes_evaluation(hf, tmp_path):
    data = rows("TokenClassification")
    callback = hf.RecordCallback((SAMPLES, LENGTH), "gce(q=0.7)")
    trainer = train_model(
        tiny("TokenClassification"),
        data,
        tmp_path,
        batch=4,
        epochs=2,
        compute_loss_func=callback.compute_loss,
        callbacks=[callback],
    )
    labels = torch.tensor(data["labels"])
    before = callback.record()
    assert before.index.tolist() == (labels.flatten() != -100).nonzero().flatten().tolist()
    assert torch.equal(before.label, labels.flatten()[before.index])
    assert trainer.evaluate(data)["eval_loss"] > 0
    callback.recorder.end_epoch()
    assert callback.record().epochs == before.epochs == 2


def test_missing_callback_and_index_raise_an_error(hf, tmp_path):
    data, model = rows("SequenceClassification"), tiny("SequenceClassification")
    callback = hf.RecordCallback(SAMPLES)
    with pytest.raises(RuntimeError, match=r"callbacks=\[callback\]"):
        train_model(model, data, tmp_path, compute_loss_func=callback.compute_loss)
    with pytest.raises(
        ValueError, match=r"no column 'index': data.add_column\('index', range\(len\(data\)\)\)"
    ):
        train_model(
            model,
            data.remove_columns("index"),
            tmp_path,
            compute_loss_func=callback.compute_loss,
            callbacks=[callback],
        )
    with pytest.raises(ValueError, match="regression is not supported"):
        hf.compute_loss("ce")({"logits": torch.zeros(2, 1)}, torch.zeros(2))


def test_fused_loss_equals_loss_of_stored_logits(hf, tmp_path):
    """Training equals that with stored logits under accumulation; evaluation returns logits."""
    found = []
    for fused in (False, True):
        model, data = tiny("CausalLM"), rows("CausalLM").remove_columns("index")
        if fused:
            trainer = train_model(hf.fuse_loss(model, "gce(q=0.3)"), data, tmp_path, batch=4, accumulation=2)
            assert model(input_ids=torch.tensor([[1, 2]])).logits.shape == (1, 2, WORDS)
            assert trainer.evaluate(data)["eval_loss"] > 0
        else:
            loss = hf.compute_loss("gce(q=0.3)", causal=True)
            train_model(model, data, tmp_path, batch=4, accumulation=2, compute_loss_func=loss)
        found.append(weights(model))
    torch.testing.assert_close(found[0], found[1], atol=1e-6, rtol=1e-5)
    assert (found[0] - weights(tiny("CausalLM"))).abs().max() > 1e-4


def test_fuse_loss_refuses_softcapped_logits(hf):
    import transformers

    config = transformers.Gemma2Config(
        vocab_size=WORDS,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=8,
        final_logit_softcapping=0.1,
    )
    with pytest.raises(ValueError, match="changes its logits after the output layer"):
        hf.fuse_loss(transformers.Gemma2ForCausalLM(config), "gce")


def test_huggingface_example_runs(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["huggingface_trainer.py"])
    runpy.run_path(str(EXAMPLES / "huggingface_trainer.py"), run_name="__main__")
    words = capsys.readouterr().out
    assert float(words.split("suspects, ")[1].split("%")[0]) > 60
