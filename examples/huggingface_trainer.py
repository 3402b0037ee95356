"""Hugging Face Trainer: fine-tune a text classifier with a robust loss, and find the wrong labels.

The model is tiny and untrained and the texts are synthetic, so that the example needs no download. Replace
them by your own AutoModelForSequenceClassification and tokenised dataset.
"""

import datasets
import numpy as np
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

from noiseproof.integrations.huggingface import RecordCallback

SENTENCES, WORDS, LENGTH = 600, 200, 12


def made_up(seed: int = 0) -> tuple[datasets.Dataset, np.ndarray]:
    """Sentences of a topic use its words more often; 20% of the labels are wrong."""
    random = np.random.default_rng(seed)
    topic = random.integers(0, 2, SENTENCES)
    words = random.integers(2, WORDS, (SENTENCES, LENGTH))
    of_topic = random.random((SENTENCES, LENGTH)) < 0.5
    words = np.where(of_topic, 2 + words // 2 + topic[:, None] * (WORDS // 2), words).clip(0, WORDS - 1)
    wrong = random.random(SENTENCES) < 0.2
    rows = {
        "input_ids": words.tolist(),
        "attention_mask": np.ones_like(words).tolist(),
        "labels": np.where(wrong, 1 - topic, topic).tolist(),
    }
    return datasets.Dataset.from_dict(rows), wrong


def main() -> None:
    data, wrong = made_up()
    data = data.add_column("index", list(range(len(data))))  # 1: a permanent number for each sample
    config = BertConfig(
        vocab_size=WORDS, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2
    )
    callback = RecordCallback(len(data), "gce(q=0.7)")  # 2
    trainer = Trainer(
        BertForSequenceClassification(config),
        TrainingArguments(
            output_dir="runs/huggingface",
            num_train_epochs=10,
            per_device_train_batch_size=16,
            gradient_accumulation_steps=2,
            learning_rate=2e-3,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            use_cpu=True,
        ),
        train_dataset=data,
        compute_loss_func=callback.compute_loss,  # 3: divides by num_items_in_batch
        callbacks=[callback],
    )
    trainer.train()
    found = callback.find()  # 4
    suspects = found[found.is_label_issue].sort_values("label_score")
    print(f"{len(suspects)} suspects, {100 * wrong[suspects['index']].mean():.0f}% of them really wrong")
    print(suspects[["index", "label_score", "given_label", "predicted_label"]].head().to_string(index=False))


if __name__ == "__main__":
    main()
