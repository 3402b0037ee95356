"""Specs whose quotes the shell removed."""

import pytest

from noiseproof.cli.quoting import check_quotes
from noiseproof.data.registry import parse_source


@pytest.mark.parametrize(
    ("spec", "meant"),
    [
        ("csv(path=rows_{split}.csv)", 'csv(path="rows_{split}.csv")'),
        ("csv(path=a.csv, label=None)", 'csv(path="a.csv", label=None)'),
        ("folder(path=my photos/{split}, size=64)", 'folder(path="my photos/{split}", size=64)'),
        ("npz(path = C:\\data\\a.npz )", 'npz(path ="C:/data/a.npz")'),
    ],
)
def test_missing_quotes_error_shows_the_quoted_spec(spec, meant):
    with pytest.raises(ValueError, match="the quotes around") as caught:
        check_quotes(spec)
    assert str(caught.value).endswith(f"write '{meant}'")
    assert "path" in parse_source(meant)[1]


@pytest.mark.parametrize(
    "spec",
    [
        "digits",
        "cifar_n(kind=worse)",
        'csv(path="a.csv")',
        "csv(path='a.csv')",
        "x(a=0.4, b=-1.5e-3)",
        "",
        "rows.csv",
    ],
)
def test_other_specs_are_accepted(spec):
    check_quotes(spec)


@pytest.mark.parametrize(
    "words",
    [["train", "--data", "{}"], ["compare", "--test", "{}"], ["predict", "nowhere", "{}", "-o", "a.csv"]],
)
def test_every_command_with_data_checks_quotes(shell, words):
    code, out, err = shell(*(word.format("csv(path=rows.csv)") for word in words))
    assert (code, out) == (2, "")
    assert err == (
        "noiseproof: the quotes around rows.csv are missing, perhaps the shell removed them:"
        " write 'csv(path=\"rows.csv\")'\n"
    )
