import json

import matplotlib.pyplot as plt
import pytest
from typer.testing import CliRunner

from noiseproof import losses
from noiseproof.cli.main import app
from noiseproof.papers import CURVE_FIGURES

MAGIC = {"svg": b"<?xml", "png": b"\x89PNG\r\n\x1a\n", "pdf": b"%PDF"}


@pytest.fixture(autouse=True)
def _no_window_and_no_figure_left():
    yield
    plt.close("all")


def run(*words: str, width: int = 200):
    return CliRunner().invoke(app, ["curve", *words], env={"COLUMNS": str(width), "NO_COLOR": "1"})


def printed(*words: str, width: int = 200) -> str:
    result = run(*words, width=width)
    assert result.exit_code == 0, result.exception
    return result.output


def refusal(*words: str) -> str:
    result = run(*words)
    assert isinstance(result.exception, (ValueError, TypeError))
    return str(result.exception)


def cells(output: str, start: str) -> list[str]:
    [line] = [line for line in output.splitlines() if line.startswith(f"│ {start}")]
    return [cell.strip() for cell in line.strip("│").split("│")]


def test_table_has_the_numbers_of_each_curve():
    output = printed("ce", "mae", "gce(q=0.4)")
    assert "Emphasis curves, 10 classes" in output
    assert cells(output, "ce") == ["ce", "0.000", "0.3333", "1", "93.1%", "0"]
    mae = losses.curve("mae")
    assert cells(output, "mae") == [
        "mae",
        "0.500",
        f"{mae.spread:.4g}",
        "0.5",
        f"{100 * mae.initial_share(10):.1f}%",
        "1",
    ]
    assert cells(output, "gce(q=0.4)")[0] == "gce(q=0.4)"


def test_specs_are_shown_in_full():
    assert (
        cells(printed("gr"), "gr")[0] == 'gr(beta=8.0, lam=0.5, g="exp", saturation=17.33, normalize="batch")'
    )


def test_narrow_terminal_folds_specs():
    output = printed("sl(alpha=0.125)", width=60)
    column = [line.split("│")[1].strip() for line in output.splitlines() if line.startswith("│")]
    assert "".join(column).replace(" ", "") == "sl(alpha=0.125,beta=1.0,A=-4.0)"


def test_focus_of_a_constant_emphasis_is_all():
    assert cells(printed("gr(beta=0, saturation=None)"), "gr(beta=0.0")[1] == "all"
    assert json.loads(printed("gr(beta=0, saturation=None)", "--json"))[0]["focus"] is None


SPECS = [
    "ce",
    "mae",
    "gce(q=0.3)",
    "sl",
    "gr",
    "2*ce + mae",
    "scale(mae, tau=2.6)",
    "unit_max(imae)",
    "truncated_gce",
]


def test_json_has_the_numbers_of_the_curves():
    rows = json.loads(printed(*SPECS, "--classes", "100", "--json"))
    assert [row["loss"] for row in rows] == [str(losses.get(spec)) for spec in SPECS]
    for spec, row in zip(SPECS, rows, strict=True):
        found = losses.curve(spec, 100)
        assert row["focus"] == found.focus
        assert row["spread"] == found.spread
        assert row["peak"] == found.peak
        assert row["initial_share"] == found.initial_share(100)
        assert row["asymmetry"] == found.asymmetry


def test_json_output_is_strict():
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    rows = json.loads(printed("mae", "gr(beta=0)", "-k", "1000", "--json"), parse_constant=refuse)
    assert [set(row) for row in rows] == [
        {"loss", "focus", "spread", "peak", "initial_share", "asymmetry", "advice"}
    ] * 2


def test_underfitting_with_many_classes_causes_a_warning():
    words = " ".join(printed("ce", "mae", "-k", "100").split())
    assert words.endswith(
        "! mae: with 100 classes this loss starts with 2.4% of its full emphasis: expect underfitting;"
        " try scale(mae, tau=2.6)"
    )
    assert "! ce" not in words
    advice = [row["advice"] for row in json.loads(printed("ce", "mae", "-k", "100", "--json"))]
    assert advice[0] == []
    assert advice[1][0] in words


def test_missing_saturation_causes_a_warning():
    assert "leave saturation at 17.33" in printed("gr(saturation=None)")
    assert "saturation at" not in printed("gr")


def test_losses_with_initial_gradient_cause_no_warning():
    assert "!" not in printed("ce", "sl(alpha=6)", "-k", "1000")


@pytest.mark.parametrize(
    ("suffix", "options"),
    [("svg", []), ("png", ["--x", "p"]), ("pdf", ["--unit"]), ("svg", ["--json"])],
    ids=["margin", "p", "unit", "json"],
)
def test_picture_format_follows_the_suffix(tmp_path, suffix, options):
    picture = tmp_path / f"curves.{suffix}"
    output = printed("ce", "mae", "-o", str(picture), *options)
    assert f"wrote {picture}" in output
    assert picture.read_bytes().startswith(MAGIC[suffix])


def test_folder_of_a_picture_is_created(tmp_path):
    picture = tmp_path / "new" / "folder" / "curves.svg"
    printed("ce", "--output", str(picture))
    assert picture.exists()


def test_picture_shows_losses_and_initial_margins(tmp_path):
    printed("ce", "gce(q=0.4)", "-k", "100", "-o", str(tmp_path / "a.svg"))
    [ax] = plt.gcf().axes
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "ce",
        "gce(q=0.4)",
        "start, 100 classes,\nsimulated N(0, 1) logits",
    ]
    assert ax.get_xlabel() == "margin Δ"


@pytest.mark.parametrize("name", ["a.jpg", "a", "a.svg.txt", ".svg", "a.", "svg"])
def test_other_formats_are_refused_before_drawing(tmp_path, name):
    picture = tmp_path / name
    result = run("ce", "-o", str(picture))
    assert str(result.exception) == f"cannot write {picture}: use one of .svg, .png, .pdf"
    assert result.output == ""
    assert list(tmp_path.iterdir()) == []


def test_unknown_horizontal_axis_is_refused(tmp_path):
    assert "--x q is unknown: use p or margin" in refusal("ce", "--x", "q", "-o", str(tmp_path / "a.svg"))
    assert list(tmp_path.iterdir()) == []


def test_figure_list():
    lines = printed("--figure", "list").splitlines()
    assert [line.split(maxsplit=1) for line in lines] == [
        [name, wanted.title] for name, wanted in CURVE_FIGURES.items()
    ]


def test_paper_figure_is_drawn(tmp_path):
    picture = tmp_path / "figure.pdf"
    assert printed("--figure", "gr.figure1a", "-o", str(picture)) == f"wrote {picture}\n"
    assert picture.read_bytes().startswith(MAGIC["pdf"])


def test_default_file_name_of_a_figure(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert printed("--figure", "imae.figure1") == "wrote imae.figure1.png\n"
    assert (tmp_path / "imae.figure1.png").read_bytes().startswith(MAGIC["png"])


def test_unknown_figure_is_refused():
    said = refusal("--figure", "gr.figure99")
    assert "unknown figure 'gr.figure99', did you mean 'gr.figure9'? (known: " in said


@pytest.mark.parametrize("name", ["[red]x[/red]", "[/]", "[link=x]", "{x}", "%s", "[bold"])
def test_markup_is_printed_as_text(name):
    class Marked(losses.MAE):
        def __str__(self) -> str:
            return name

    losses.register("marked", Marked)
    try:
        output = printed("marked", "-k", "100")
        rows = json.loads(printed("marked", "-k", "100", "--json"))
    finally:
        del losses.LOSSES["marked"]
    assert cells(output, name)[0] == name
    assert f"! {name}: with 100 classes" in output
    assert rows[0]["loss"] == name


@pytest.mark.parametrize("spec", ["[red]ce", "gce(q='[/]')", "[/]", "ce[bold]"])
def test_markup_in_an_invalid_spec_is_printed_as_text(spec):
    assert spec.removeprefix("gce(q='").removesuffix("')") in refusal(spec)
