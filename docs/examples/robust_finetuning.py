"""Fine-tune a causal language model on noisy tokens with a robust loss; the logits are never stored."""

import torch
from transformers import PreTrainedModel

from noiseproof import losses


def finetune(model: PreTrainedModel, batches: list[torch.Tensor], spec: str = "gce(q=0.7)") -> list[float]:
    loss, history = losses.get(spec), []
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for tokens in batches:  # (batch, length); -100 where there is nothing to learn
        hidden = model.base_model(input_ids=tokens.clamp_min(0)).last_hidden_state
        value = loss.linear(hidden[:, :-1], model.get_output_embeddings().weight, tokens[:, 1:])
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        history.append(value.item())
    return history
