"""Fine-tune a causal language model on noisy tokens with a robust loss; the logits are never stored."""

import torch
from transformers import PreTrainedModel

from noiseproof import losses

Batch = dict[str, torch.Tensor]  # input_ids, attention_mask, and labels, -100 where there is nothing to learn


def finetune(model: PreTrainedModel, batches: list[Batch], spec: str = "gce(q=0.7)") -> list[float]:
    loss, head, history = losses.get(spec), model.get_output_embeddings(), []
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for batch in batches:
        inputs = {name: value for name, value in batch.items() if name != "labels"}
        hidden = model.base_model(**inputs).last_hidden_state
        value = loss.linear(hidden[:, :-1], head.weight, batch["labels"][:, 1:], bias=head.bias)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        history.append(value.item())
    return history
