"""Find label errors in a Hugging Face dataset and add them as columns."""

import numpy as np
import pytest

datasets = pytest.importorskip("datasets", reason="datasets is not installed: make test-integrations")
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def reviews():
    """60 short reviews; the first four have the wrong label."""
    random = np.random.default_rng(0)
    words = (["awful", "dull", "boring", "bad"], ["lovely", "superb", "moving", "good"])
    truth = np.arange(60) % 2
    texts = [" ".join(random.choice(words[kind], 5)) for kind in truth]
    label = truth.copy()
    label[:4] = 1 - label[:4]
    names = datasets.ClassLabel(names=["positive", "negative"])
    features = datasets.Features(
        {"text": datasets.Value("string"), "size": datasets.Value("int64"), "label": names}
    )
    return datasets.Dataset.from_dict(
        {"text": texts, "size": list(map(len, texts)), "label": label.tolist()}, features=features
    )


def test_find_in_text_column(reviews):
    from noiseproof.integrations.datasets import find_in, with_findings

    found = find_in(reviews, "text")
    assert found.attrs["class_names"] == ["positive", "negative"]
    assert found[found.is_label_issue].index.tolist() == [0, 1, 2, 3]
    suspects = with_findings(reviews, found).filter(lambda row: row["is_label_issue"])
    assert suspects["text"] == reviews[:4]["text"]
    assert suspects["predicted_label"] == [0, 1, 0, 1]


def test_find_in_several_columns(reviews):
    from noiseproof.integrations.datasets import find_in, with_findings

    names = np.array(["no", "yes"])[reviews["label"]].tolist()
    named = reviews.remove_columns("label").add_column("label", names)
    found = find_in(named, ["text", "size"], model="linear")
    marked = with_findings(named, found)
    assert set(marked["predicted_label"]) <= {"no", "yes"}
    with pytest.raises(ValueError, match="no column 'txt', did you mean 'text'"):
        find_in(named, "txt")
    with pytest.raises(ValueError, match="found has 60 labels, the dataset has 5 rows"):
        with_findings(named.select(range(5)), found)
