import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.losses import LOSSES, MarginLoss, get
from noiseproof.losses.spec import MAX_DEPTH, MAX_LENGTH

DEFAULTS = [
    "ce",
    "focal(gamma=2.0)",
    "mae",
    "rce(A=-4.0)",
    "sl(alpha=0.1, beta=1.0, A=-4.0)",
    "sce(q=0.5)",
    "gce(q=0.7)",
    "truncated_gce(q=0.7, k=0.5)",
    "tce(order=2)",
    "aul(a=1.1, q=5.0)",
    "agce(a=0.1, q=0.1)",
    "ael(q=2.5)",
    'gr(beta=8.0, lam=0.5, g="exp", saturation=17.33, normalize="batch")',
    'imae(T=8.0, saturation=17.33, normalize="batch")',
    "nal_fixed(tau=0.5)",
    "nce",
    "nfl(gamma=0.5)",
    "mse(alpha=0.5)",
    "gls(alpha=0.1)",
    "cr(ce, beta=1.0)",
    "peer(ce, alpha=1.0, seed=0)",
]
EXAMPLES = [
    *DEFAULTS,
    "ls",
    "rce(A=-2)",
    "10*nce + 0.1*agce(a=1.8, q=3)",
    "scale(mae, tau=2.6)",
    "shift(mae, tau=2.6)",
    "shift(mae, by=3.0)",
    "unit_max(gce(q=0.4))",
    "binary(gce(q=0.7))",
    "gr(saturation=None)",
    'gr(g="identity")',
    'imae(T=8.0, normalize="none")',
]


def message(spec: str, kind: type[Exception] = ValueError) -> str:
    with pytest.raises(kind) as caught:
        get(spec)
    assert caught.type in (ValueError, TypeError)
    return str(caught.value)


@pytest.mark.parametrize("spec", EXAMPLES)
def test_documented_examples_round_trip(spec):
    printed = str(get(spec))
    assert str(get(printed)) == printed


@pytest.mark.parametrize("shown", DEFAULTS)
def test_documented_values_are_the_defaults(shown):
    name = shown.partition("(")[0]
    bare = f"{name}(ce)" if name in ("cr", "peer") else name
    assert str(get(bare)) == shown


@pytest.mark.parametrize(
    ("spec", "printed"),
    [
        ("  gce( q = 0.7 )  ", "gce(q=0.7)"),
        ("gce()", "gce(q=0.7)"),
        ("gce(q=1)", "gce(q=1.0)"),
        ("gce(q=7e-1,)", "gce(q=0.7)"),
        ("gls(alpha=-1)", "gls(alpha=-1.0)"),
        ("gce(q=+0.5)", "gce(q=0.5)"),
        ("gr(g='identity')", 'gr(beta=8.0, lam=0.5, g="identity", saturation=None, normalize="none")'),
        ("gr(saturation=None)", 'gr(beta=8.0, lam=0.5, g="exp", saturation=None, normalize="batch")'),
        ("ls(alpha=0.2)", "gls(alpha=0.2)"),
        ("1*ce", "ce"),
        ("2*(ce + 3*mae)", "2*ce + 6*mae"),
        ("ce + (mae + rce)", "ce + mae + rce(A=-4.0)"),
        ("unit_max(ce + 2*mae)", "unit_max(ce + 2*mae)"),
        ("scale(unit_max(mae), tau=3, num_classes=10)", "scale(unit_max(mae), tau=3.0, num_classes=10)"),
        ("shift(mae, tau=2, initial_margin=5)", "shift(mae, tau=2.0, initial_margin=5.0)"),
        ("cr(nce + ce, beta=0)", "cr(nce + ce, beta=0.0)"),
    ],
)
def test_specs_print_in_canonical_form(spec, printed):
    assert str(get(spec)) == repr(get(spec)) == printed


@pytest.mark.parametrize(
    ("spec", "attributes"),
    [
        ("gce(q=0.25)", {"q": 0.25}),
        ("sl(alpha=6, A=-9.21)", {"alpha": 6.0, "beta": 1.0, "A": -9.21}),
        (
            "gr(beta=4, saturation=None, normalize='batch')",
            {"beta": 4.0, "saturation": None, "normalize": "batch"},
        ),
        ("tce(order=5)", {"order": 5}),
        ("peer(mae, seed=7)", {"seed": 7, "alpha": 1.0}),
    ],
)
def test_hyper_parameters_are_attributes(spec, attributes):
    loss = get(spec)
    assert {name: getattr(loss, name) for name in attributes} == attributes


def test_sum_has_factors_and_parts():
    loss = get("10*nce + 0.1*agce(a=1.8, q=3)")
    assert loss.factors == (10, 0.1)
    assert [str(part) for part in loss.inner] == ["nce", "agce(a=1.8, q=3.0)"]


@pytest.mark.parametrize(
    ("spec", "of_the_margin"),
    [("ce + 2*mae", True), ("ce + nce", False), ("scale(mae)", True), ("binary(mae)", False)],
)
def test_only_sums_of_margin_losses_are_margin_losses(spec, of_the_margin):
    assert isinstance(get(spec), MarginLoss) is of_the_margin


def positive(largest: float) -> st.SearchStrategy[float]:
    return st.floats(min_value=0.01, max_value=largest)


PARAMETERS: dict[str, dict[str, st.SearchStrategy]] = {
    "ce": {},
    "mae": {},
    "nce": {},
    "focal": {"gamma": st.integers(0, 5) | positive(5)},
    "rce": {"A": positive(10).map(lambda a: -a)},
    "sl": {"alpha": positive(9), "beta": st.integers(1, 9), "A": st.integers(-9, -1)},
    "sce": {"q": st.floats(0, 1)},
    "gce": {"q": positive(1)},
    "truncated_gce": {"q": positive(1), "k": st.floats(0, 0.9)},
    "tce": {"order": st.integers(1, 50)},
    "aul": {"a": st.floats(1.1, 5), "q": positive(5)},
    "agce": {"a": positive(5), "q": positive(5)},
    "ael": {"q": positive(5).filter(lambda q: q >= 0.02)},
    "nal_fixed": {"tau": st.floats(0.01, 0.99)},
    "gr": {
        "beta": positive(16),
        "lam": st.sampled_from([0, 0.5, 1, 2]),
        "saturation": st.none() | positive(30),
    },
    "imae": {"T": st.integers(0, 16), "normalize": st.sampled_from(["none", "batch"])},
    "nfl": {"gamma": positive(3)},
    "mse": {"alpha": st.floats(0, 2)},
    "gls": {"alpha": st.floats(-3, 0.9)},
    "scale": {"tau": positive(9), "num_classes": st.none() | st.integers(3, 1000)},
    "shift": {"by": st.floats(-9, 9)},
    "unit_max": {},
    "cr": {"beta": st.floats(0, 3)},
    "peer": {"alpha": st.floats(0, 3), "seed": st.integers(0, 10**6)},
}
NOT_OF_THE_MARGIN = ("nce", "nfl", "mse", "gls")
MARGIN_WRAPPERS = ("scale", "shift", "unit_max")
ROW_WRAPPERS = ("cr", "peer")
MARGIN_LEAVES = [n for n in PARAMETERS if n not in (*NOT_OF_THE_MARGIN, *MARGIN_WRAPPERS, *ROW_WRAPPERS)]


def arguments(name: str) -> st.SearchStrategy[list[str]]:
    chosen = st.fixed_dictionaries({}, optional=PARAMETERS[name])
    return chosen.map(lambda given: [f"{key}={value!r}" for key, value in given.items()])


def leaf(names: list[str]) -> st.SearchStrategy[str]:
    return st.sampled_from(names).flatmap(
        lambda name: arguments(name).map(lambda words: f"{name}({', '.join(words)})")
    )


def wrapped(names: tuple[str, ...], inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def write(name: str) -> st.SearchStrategy[str]:
        return st.tuples(inner, arguments(name)).map(lambda t: f"{name}({', '.join([t[0], *t[1]])})")

    return st.sampled_from(names).flatmap(write)


def sums(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    term = st.tuples(st.integers(1, 99) | positive(99), inner).map(lambda t: f"{t[0]!r}*({t[1]})")
    return st.lists(term | inner, min_size=2, max_size=3).map(" + ".join)


margin_specs = st.recursive(
    leaf(MARGIN_LEAVES), lambda inner: sums(inner) | wrapped(MARGIN_WRAPPERS, inner), max_leaves=4
)
plain_specs = margin_specs | leaf(list(NOT_OF_THE_MARGIN))
row_specs = plain_specs | sums(plain_specs)
wrapped_specs = row_specs | wrapped(ROW_WRAPPERS, row_specs)
specs = (wrapped_specs | sums(wrapped_specs)).filter(lambda spec: len(spec) < MAX_LENGTH / 2)


@settings(max_examples=40, deadline=None)
@given(specs)
def test_random_nested_specs_round_trip_and_compute_the_same(spec):
    first = get(spec)
    second = get(str(first))
    assert str(second) == str(first)
    logits = torch.linspace(-3, 3, 20).sin().reshape(4, 5)
    target = torch.tensor([0, 4, 2, 1])
    torch.testing.assert_close(first(logits, target), second(logits, target), rtol=0, atol=0)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=40) | st.text("ceamg()+*.=,q01 '\"", max_size=20))
def test_random_text_parses_or_raises(text):
    try:
        loss = get(text)
    except (ValueError, TypeError):
        return
    assert str(get(str(loss))) == str(loss)


HOSTILE = {
    "__import__('os').system('true')": "__import__('os').system('true')",
    "__import__('os')": "'os'",
    "__import__": "unknown loss '__import__'",
    "exec('1')": "'1'",
    "open('f', 'w')": "'f'",
    "globals()": "unknown loss 'globals'",
    "ce.__class__": "'ce.__class__'",
    "ce.__class__.__mro__": "'ce.__class__.__mro__'",
    "losses.ce": "'losses.ce'",
    "ce.value()": "'ce.value()'",
    "gce(q=ce.q)": "'ce.q'",
    "lambda: ce": "'lambda: ce'",
    "(lambda: ce)()": "'(lambda: ce)()'",
    "[ce for _ in (1,)]": "'[ce for _ in (1,)]'",
    "(ce for _ in (1,))": "'(ce for _ in (1,))'",
    "{ce: mae}": "'{ce: mae}'",
    "{ce}": "'{ce}'",
    "[ce]": "'[ce]'",
    "ce, mae": "'ce, mae'",
    "()": "'()'",
    "f'{ce}'": "f'{ce}'",
    "gce(q=f'{1}')": "f'{1}'",
    "ce[0]": "'ce[0]'",
    "gce[q]": "'gce[q]'",
    "scale(*mae)": "'*mae'",
    "*ce": "'*ce'",
    "gce(**{'q': 1})": "**{'q': 1}",
    "gce(**q)": "'**q'",
    "(x := ce)": "'x := ce'",
    "gce(q:=0.7)": "'q:=0.7'",
    "gce(q=(x := 0.7))": "'x := 0.7'",
    "ce if 1 else mae": "'ce if 1 else mae'",
    "ce and mae": "'ce and mae'",
    "not ce": "'not ce'",
    "ce < mae": "'ce < mae'",
    "await ce": "'await ce'",
    "yield ce": "'yield ce'",
    "ce; mae": "'ce; mae'",
    "ce\nmae": r"'ce\nmae'",
    "import os": "'import os'",
    "x = ce": "'x = ce'",
    "ce\\": r"'ce\\'",
    "": "''",
    "   ": "'   '",
    "\x00": r"'\x00'",
    "ce\x00": r"'ce\x00'",
    "сe": "unknown loss 'сe'",
    "mаe + ce": "unknown loss 'mаe'",
    "ce\ud800": r"'ce\ud800'",
    "ce\u200b": r"'ce\u200b'",
    "2×mae": "×",
    "gce(q=٠)": "٠",
    "gce(q=b'1')": "b'1'",
    "gce(q=1j)": "'1j'",
    "gce(q=...)": "'...'",
    "...": "'...'",
    "gce(q=[1])": "'[1]'",
    "gce(q=(1,))": "'(1,)'",
    "gce(q={})": "'{}'",
    "gce(q=nan)": "'nan'",
    "gce(q=inf)": "'inf'",
    "gce(q=1/2)": "'1/2'",
    "gce(q=1 - 0.3)": "'1 - 0.3'",
    "tce(order=2**8)": "'2**8'",
    "gce(q=~1)": "'~1'",
    "gce(q=--1)": "'--1'",
    "gce(q=-True)": "'-True'",
    "gce(q=-'a')": "'a'",
    "-1*mae": "'-1*mae'",
    "-mae": "'-mae'",
    "0*mae": "factor=0",
    "0.0*mae": "factor=0.0",
    "1e999*mae": "factor=inf",
    "ce + 0*mae": "factor=0",
    "ce - mae": "'ce - mae'",
    "mae / 2": "'mae / 2'",
    "mae*2": "'mae*2'",
    "mae*mae": "'mae*mae'",
    "2*3*mae": "'2*3*mae'",
    "ce @ mae": "'ce @ mae'",
    "ce + 1": "'1'",
    "10": "'10'",
    "'ce'": "'ce'",
    "gce(0.7)": "'0.7'",
    "gce(-0.7)": "'-0.7'",
    "scale(mae, 2.6)": "'2.6'",
    "scale(2.6, mae)": "'2.6'",
    "scale('mae')": "'mae'",
    "scale": "scale takes 1 inner loss, got 0",
    "scale(tau=2)": "'scale(tau=2)'",
    "scale(mae, mae)": "'scale(mae, mae)'",
    "cr(ce, mae)": "'cr(ce, mae)'",
    "ce(mae)": "ce takes no inner loss, got 1",
    "gce(q)": "unknown loss 'q'",
    "gce()()": "'gce()()'",
    "scale(inner=mae)": "'mae'",
    "scale(inner=None)": "'inner'",
    "ce(outer=1)": "'outer'",
    "gce(self=1)": "'self'",
    "gce(reduction='sum')": "cannot use \"reduction='sum'\"",
    "scale(mae(reduction='none'))": "cannot use \"reduction='none'\"",
    "ce(weight=None)": "cannot use 'weight=None'",
    "ce(ignore_index=0)": "cannot use 'ignore_index=0'",
    "gce(q=0.7": "'gce(q=0.7'",
    "gce)": "'gce)'",
    "gce(,)": "'gce(,)'",
    "10 nce": "'10 nce'",
    "gr(lambda=1)": "'gr(lambda=1)'",
    "gr(g='foo')": "g='foo'",
    "gce(q=1e999)": "q=inf",
    "1e999*ce": "factor=inf is out of range, it must satisfy 1e-35 <= factor < inf",
    "True*mae": "'True' in 'True*mae' is not a number",
    "'2'*mae": "is not a number",
    "None*mae": "'None' in 'None*mae' is not a number",
}


@pytest.mark.parametrize("spec", HOSTILE)
def test_malicious_specs_raise_value_error_with_offending_part(spec):
    assert HOSTILE[spec] in message(spec)


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        ("scale(nce)", "got nce"),
        ("shift(gls)", "got gls(alpha=0.1)"),
        ("unit_max(ce + mse)", "got ce + mse(alpha=0.5)"),
        ("binary(cr(ce))", "got cr(ce, beta=1.0)"),
        ("binary(binary(ce))", "got binary(ce)"),
        ("gce(q='0.7')", "q must be a number, got '0.7'"),
        ("gce(q=True)", "q must be a number, got True"),
        ("gce(q=None)", "q must be a number, got None"),
    ],
)
def test_wrong_types_raise_type_error_with_offending_part(spec, part):
    assert part in message(spec, TypeError)


@pytest.mark.parametrize("length", [MAX_LENGTH + 1, 1_000_000])
def test_long_specs_raise_value_error_before_parsing(length):
    assert message("(" * length) == f"a loss spec can have at most {MAX_LENGTH} characters, got {length}"


def test_deep_nesting_raises_value_error():
    deepest = "unit_max(" * MAX_DEPTH + "mae" + ")" * MAX_DEPTH
    assert str(get(deepest)) == deepest
    assert f"deeper than {MAX_DEPTH}" in message(f"unit_max({deepest})")


@pytest.mark.parametrize(
    "spec", ["(" * 499 + "ce", "-" * 999 + "1", "gce(q=" + "-" * 900 + "1)", "[" * 500 + "]" * 500]
)
def test_nested_expressions_that_are_not_losses_raise_value_error(spec):
    assert spec[:70] in message(spec)


@pytest.mark.parametrize(
    ("spec", "suggested"),
    [
        ("gcee", "gce"),
        ("imea", "imae"),
        ("focall", "focal"),
        ("truncatedgce", "truncated_gce"),
        ("unitmax(mae)", "unit_max"),
        ("ce + 2*nal_fix", "nal_fixed"),
        ("scale(mae, taw=1)", "tau"),
        ("scale(mae, numclasses=9)", "num_classes"),
        ("gr(betta=1)", "beta"),
        ("sl(alfa=1)", "alpha"),
    ],
)
def test_unknown_names_get_the_nearest_suggestion(spec, suggested):
    assert f"did you mean {suggested!r}?" in message(spec)


def test_unknown_loss_without_similar_name_lists_all_losses():
    found = message("xyzzy")
    assert "did you mean" not in found
    assert ", ".join(sorted(LOSSES)) in found


def test_unknown_parameter_lists_parameters_of_the_loss():
    assert "unknown parameter of sl 'zzz' (known: alpha, beta, A)" in message("sl(zzz=1)")
    assert "(known: tau, num_classes, initial_margin)" in message("scale(mae, zzz=1)")
    assert "(known: none)" in message("ce(zzz=1)")


def test_nothing_is_imported_or_executed(tmp_path):
    touched = tmp_path / "touched"
    attacks = [
        "__import__('antigravity')",
        "__import__('this')",
        f"__import__('pathlib').Path({str(touched)!r}).touch()",
        f"open({str(touched)!r}, 'w')",
        f"exec(\"open({str(touched)!r}, 'w')\")",
        f"ce if open({str(touched)!r}, 'w') else mae",
        f"gce(q=open({str(touched)!r}, 'w'))",
        f"[ce for f in [open({str(touched)!r}, 'w')]][0]",
        f"(lambda: open({str(touched)!r}, 'w'))()",
        f"gce(q=f'{{open({str(touched)!r}, \"w\")}}')",
    ]
    message("gcee")
    before = set(sys.modules)
    for attack in attacks:
        message(attack)
    assert set(sys.modules) == before
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("spec", ["gce(q=0.7, q=0.8)", "scale(mae, tau=2, tau=2)"])
def test_repeated_parameter_raises_value_error(spec):
    with pytest.raises(ValueError, match="twice"):
        get(spec)


@pytest.mark.parametrize("spec", ["ce # comment", "gce(q=0.7) #", "ｃｅ", "ｇｃｅ(q=0.7)"])
def test_comments_and_unicode_lookalikes_raise_value_error(spec):
    with pytest.raises(ValueError, match=r"comments are not allowed|is not a plain name"):
        get(spec)


def test_long_sums_round_trip():
    total = sum([get("ce")] * 30)
    assert str(get(str(total))) == str(total)
