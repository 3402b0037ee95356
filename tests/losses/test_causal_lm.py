"""The example of the docs: a causal language model fine-tuned through ``loss.linear``."""

import importlib.util
from pathlib import Path

import pytest
import torch

from noiseproof import losses

DOCS = Path(__file__).parents[2] / "docs"
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("transformers") is None,
    reason="transformers is not installed: the fine-tuning example of docs/fused_losses.md is not run",
)


@pytest.fixture
def finetune():
    specification = importlib.util.spec_from_file_location("example", DOCS / "examples/robust_finetuning.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module.finetune


@pytest.fixture(params=["llama", "gpt2", "gptj"])
def model(request):
    """Untrained and tiny; the second ties its output to its input embedding, the third has an output bias."""
    import transformers

    torch.manual_seed(0)
    if request.param == "gptj":
        config = transformers.GPTJConfig(
            vocab_size=64, n_embd=32, n_layer=1, n_head=2, rotary_dim=8, bos_token_id=0, eos_token_id=0
        )
        found = transformers.GPTJForCausalLM(config)
        torch.nn.init.normal_(found.lm_head.bias)
        return found
    if request.param == "llama":
        config = transformers.LlamaConfig(
            vocab_size=64,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=1,
            num_attention_heads=2,
            tie_word_embeddings=False,
        )
        return transformers.LlamaForCausalLM(config)
    config = transformers.GPT2Config(
        vocab_size=64,
        n_embd=32,
        n_layer=1,
        n_head=2,
        bos_token_id=0,
        eos_token_id=0,
        **dict.fromkeys(("attn_pdrop", "embd_pdrop", "resid_pdrop"), 0),
    )
    return transformers.GPT2LMHeadModel(config)


def batch(rows=4):
    """Sentences that count upwards; the first of two tokens is a prompt, which is read and not learned."""
    tokens = torch.arange(24).repeat(rows, 1) + torch.arange(rows).unsqueeze(1)
    labels = tokens.clone()
    labels[:, :2] = -100
    return {"input_ids": tokens, "attention_mask": torch.ones_like(tokens), "labels": labels}


def test_the_loss_falls(finetune, model):
    history = finetune(model, [batch()] * 60, "gce(q=0.3)")
    assert history[-1] < 0.8 * history[0]


def test_cross_entropy_begins_where_the_model_itself_does(finetune, model):
    """Prompts are read as they are, and an output bias counts."""
    model.eval()
    with torch.no_grad():
        wanted = float(model(**batch()).loss)
    assert finetune(model, [batch()], "ce")[0] == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("spec", ["gce", "mae", "nce"])
def test_same_gradients_as_with_stored_logits(spec, model):
    """All parameters, the tied ones included; some tokens count for nothing."""
    given = batch()
    labels = given.pop("labels")[:, 1:]
    loss, model = losses.get(spec), model.eval()
    head, hidden = model.get_output_embeddings(), model.base_model(**given).last_hidden_state[:, :-1]
    fused = loss.linear(hidden, head.weight, labels, bias=head.bias)
    found = torch.autograd.grad(fused, list(model.parameters()), retain_graph=True)
    logits = model(**given).logits[:, :-1]
    plain = loss(logits.flatten(0, 1), labels.flatten())
    wanted = torch.autograd.grad(plain, list(model.parameters()))
    torch.testing.assert_close(fused, plain)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-7)


def test_the_page_shows_the_example_that_runs():
    body = (DOCS / "examples/robust_finetuning.py").read_text().split("\n\n", 1)[1]
    assert body in (DOCS / "fused_losses.md").read_text()
