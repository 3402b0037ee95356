import pytest
import torch

from noiseproof.losses.curves.numerics import IntegralTable


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_integral_of_sigmoid_is_accurate_in_the_tail(dtype):
    table = IntegralTable(lambda m: torch.sigmoid(-m), low=-60.0, high=60.0, anchor=60.0)
    margin = torch.linspace(-59, 20, 317, dtype=dtype)
    wanted = -torch.nn.functional.logsigmoid(margin.double())
    tolerance = 1e-7 if dtype == torch.float64 else 1e-5
    torch.testing.assert_close(table(margin).double(), wanted, rtol=tolerance, atol=0)


def test_integral_is_signed_around_inner_anchor():
    table = IntegralTable(torch.cos, low=-1.0, high=1.0, anchor=0.0)
    margin = torch.linspace(-1, 1, 21, dtype=torch.float64)
    torch.testing.assert_close(table(margin), -torch.sin(margin), rtol=1e-9, atol=1e-12)


def test_integrand_is_constant_or_zero_outside_the_table():
    table = IntegralTable(lambda m: 1 + 0 * m, low=-1.0, high=1.0, anchor=0.0)
    margin = torch.tensor([-1e4, 1e4], dtype=torch.float64)
    torch.testing.assert_close(table(margin), -margin)
    ending = IntegralTable(lambda m: 1 + 0 * m, low=-1.0, high=1.0, anchor=1.0, ends=True)
    assert float(ending(torch.tensor(50.0))) == 0


def test_table_accepts_any_shape():
    table = IntegralTable(torch.exp, low=-1.0, high=1.0, anchor=0.0)
    assert table(torch.zeros(2, 3, 4)).shape == (2, 3, 4)
    assert table(torch.zeros(())).shape == ()
    assert table(torch.zeros(0)).shape == (0,)


@pytest.mark.slow
def test_inductor_with_dynamic_values():
    """With dynamic shapes, offsets become symbols, for which some operators of torch lose a factor."""
    torch.compiler.reset()
    table = IntegralTable(lambda m: torch.sigmoid(-m), low=-6.0, high=8.0, anchor=7.0)
    margin = torch.linspace(-5, 5, 11)
    compiled = torch.compile(table.__call__, fullgraph=True, dynamic=True)
    torch.testing.assert_close(compiled(margin), table(margin))
