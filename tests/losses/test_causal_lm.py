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
    """A small untrained model; gpt2 ties its output to its input embedding, gptj has an output bias."""
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
    """Sequences of consecutive numbers; the first two tokens are a prompt with ignored labels."""
    tokens = torch.arange(24).repeat(rows, 1) + torch.arange(rows).unsqueeze(1)
    labels = tokens.clone()
    labels[:, :2] = -100
    return {"input_ids": tokens, "attention_mask": torch.ones_like(tokens), "labels": labels}


def test_training_reduces_the_loss(finetune, model):
    history = finetune(model, [batch()] * 60, "gce(q=0.3)")
    assert history[-1] < 0.8 * history[0]


def test_initial_cross_entropy_equals_that_of_the_model(finetune, model):
    """With prompts whose labels are ignored, and with an output bias."""
    model.eval()
    with torch.no_grad():
        wanted = float(model(**batch()).loss)
    assert finetune(model, [batch()], "ce")[0] == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("spec", ["gce", "mae", "nce"])
def test_gradients_match_stored_logits(spec, model):
    """Gradients of all parameters, tied ones included, with ignored tokens."""
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


def test_page_contains_the_tested_example():
    body = (DOCS / "examples/robust_finetuning.py").read_text().split("\n\n", 1)[1]
    assert body in (DOCS / "fused_losses.md").read_text()
