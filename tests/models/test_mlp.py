import torch

from noiseproof import models


def test_standardize_removes_the_scale_of_the_inputs():
    rows = torch.randn(64, 3, generator=torch.Generator().manual_seed(0))
    scale, shift = torch.tensor([1e4, 1.0, 30.0]), torch.tensor([2e4, -1.0, 0.0])
    model = models.get("mlp(hidden=8, standardize=True)", num_classes=2, in_channels=3, seed=0)
    plain = models.get("mlp(hidden=8)", num_classes=2, in_channels=3, seed=0)
    torch.testing.assert_close(model(rows * scale + shift), model(rows), rtol=1e-3, atol=1e-4)
    assert not torch.allclose(plain(rows * scale + shift), plain(rows), rtol=1e-3, atol=1e-4)


def test_standardize_evaluates_with_the_mean_of_all_batches():
    rows = 100 + torch.randn(64, 3, generator=torch.Generator().manual_seed(0))
    model = models.get("mlp(hidden=8, standardize=True)", num_classes=2, in_channels=3, seed=0)
    trained = model.train()(rows)
    torch.testing.assert_close(model.eval()(rows), trained, rtol=0.05, atol=0.02)
