"""A folder of images: order, classes, splits, broken files."""

import numpy as np
import pytest
from image_samples import encoded, flipped, picture, truncated
from PIL import Image

from noiseproof.data import BrokenFileError, load


def written(root, files):
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return f"folder(path={root.as_posix()!r})"


def test_order_and_pixels(tmp_path):
    names = ["b/2.png", "b/10.png", "a/z.PNG", "a/deep/er/y.bmp", "c/1.webp"]
    spec = written(tmp_path, {name: encoded(n, name.split(".")[-1].lower()) for n, name in enumerate(names)})
    data = load(spec)
    assert data.class_names == ("a", "b", "c")
    assert data.label.tolist() == [0, 0, 1, 1, 2]
    order = [names.index(path.removeprefix(f"{tmp_path.as_posix()}/")) for path in data.inputs.paths]
    assert order == [3, 2, 1, 0, 4]
    assert (data.batch([2]).input[0].numpy() == picture(1).transpose(2, 0, 1)).all()
    assert data.sample_shape == (3, 16, 24)
    assert data.clean_label is None


def test_samples_are_sorted_by_path(tmp_path):
    names = [f"{folder}/{number}.png" for folder in ("b/x", "b", "a") for number in (7, 10, 3, 22, 1, 15, 9)]
    data = load(written(tmp_path, {name: encoded(0, "png") for name in names}))
    assert data.inputs.paths == [f"{tmp_path.as_posix()}/{name}" for name in sorted(names)]


def test_test_split_uses_the_training_classes(tmp_path):
    written(tmp_path / "train", {f"{name}/1.png": encoded(0, "png") for name in "abc"})
    written(tmp_path / "test", {"c/1.png": encoded(0, "png")})
    spec = f"folder(path={(tmp_path / '{split}').as_posix()!r}, size=8)"
    assert len(load(spec)) == 3
    with pytest.warns(UserWarning, match="no sample has the label 0"):
        test = load(spec, split="test")
    assert test.label.tolist() == [2]
    written(tmp_path / "test", {"d/1.png": encoded(0, "png")})
    with pytest.raises(ValueError, match=r"test/d is not a class of the training folder \(a, b, c\)"):
        load(spec, split="test")
    with pytest.raises(ValueError, match=r"contains splits, not classes: use folder\(path="):
        load(f"folder(path={tmp_path.as_posix()!r})")


def test_invalid_arguments_are_refused(tmp_path):
    spec = written(tmp_path, {"a/1.png": encoded(0, "png"), "b/1.png": encoded(1, "png")})
    with pytest.raises(ValueError, match=r"has no test split: put \{split\}"):
        load(spec, split="test")
    with pytest.raises(FileNotFoundError, match="missing is not a folder"):
        load(f"folder(path={(tmp_path / 'missing').as_posix()!r})")
    with pytest.raises(ValueError, match="has no subfolders"):
        load(f"folder(path={(tmp_path / 'a').as_posix()!r})")
    with pytest.raises(ValueError, match="on_error='ignore'"):
        load(spec[:-1] + ", on_error='ignore')")
    (tmp_path / "x" / "a").mkdir(parents=True)
    with pytest.raises(ValueError, match="no JPEG, PNG, WebP or BMP file"):
        load(f"folder(path={(tmp_path / 'x').as_posix()!r})")


def test_unsupported_images_cause_a_warning(tmp_path):
    spec = written(
        tmp_path, {"a/1.png": encoded(0, "png"), "b/1.png": encoded(1, "png"), "b/notes.txt": b"x"}
    )
    (tmp_path / "b" / ".hidden.png").write_bytes(b"x")
    assert len(load(spec)) == 2
    Image.fromarray(picture(0)).save(tmp_path / "b" / "2.gif")
    with pytest.warns(UserWarning, match=r"1 images are neither JPEG.*2\.gif"):
        assert len(load(spec)) == 2


def test_two_hundred_broken_files_are_all_reported(tmp_path):
    """Half of 400 files are broken: truncated, or PNG with a flipped bit in the pixels."""
    generator = np.random.default_rng(0)
    files, broken = {}, []
    for number in range(400):
        suffix = ("png", "jpg", "webp", "bmp")[number % 4]
        content = encoded(number, suffix)
        name = f"{'ab'[number % 2]}/{number:03d}.{suffix}"
        if number % 8 < 4:
            broken.append((tmp_path / name).as_posix())
            turned = suffix == "png" and number % 16 < 8
            content = (
                content[:100] + flipped(content[100:-20], generator) + content[-20:]
                if turned
                else truncated(content, generator)
            )
        files[name] = content
    spec = written(tmp_path, files)
    everything = load(spec)
    with pytest.warns(UserWarning, match="left out sample .* and 199 more, see .skipped"):
        data = load(spec[:-1] + ", on_error='skip')")
    assert sorted(file.path for file in data.skipped) == sorted(broken)
    assert len(broken) == len(data) == 200
    for file in data.skipped:
        assert everything.inputs.paths[file.index] == file.path
        with pytest.raises(BrokenFileError, match=f"sample {file.index}, "):
            everything.batch([file.index])
    assert [everything.inputs.paths[i] for i in data.index.tolist()] == data.inputs.paths
    assert data.batch(slice(None)).input.shape == (200, 3, 16, 24)


def test_no_readable_image_is_an_error(tmp_path):
    spec = written(tmp_path, {"a/1.png": b"x", "b/1.png": b"y"})
    with (
        pytest.warns(UserWarning, match="left out sample 0"),
        pytest.raises(ValueError, match="none of the 2 images can be read"),
    ):
        load(spec[:-1] + ", on_error='skip')")


def test_unlabelled_folder_reads_all_images(tmp_path):
    names = ["b.png", "a.png", "deep/c.png"]
    spec = written(tmp_path, {name: encoded(0, "png") for name in names})
    data = load(spec[:-1] + ", labelled=False)")
    assert data.inputs.paths == [f"{tmp_path.as_posix()}/{name}" for name in sorted(names)]
    assert data.class_names == ("unlabelled",)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="empty: no JPEG, PNG, WebP or BMP file in it"):
        load(f"folder(path='{(tmp_path / 'empty').as_posix()}', labelled=False)")


def test_empty_subfolder_is_not_a_class(tmp_path):
    for name, files in {
        "a": ["1.png"],
        "b": [],
        "c": ["2.png", "3.png"],
        "d": [".hidden.png", "notes.txt"],
    }.items():
        for split in ("train", "test"):
            (tmp_path / split / name).mkdir(parents=True)
            for file in files:
                (tmp_path / split / name / file).write_bytes(encoded(1, "png"))
    (tmp_path / "test/e").mkdir()
    with pytest.warns(
        UserWarning, match="the subfolder 'b' and 1 more has no JPEG, PNG, WebP or BMP file and"
    ):
        data = load(f"folder(path='{tmp_path.as_posix()}/{{split}}')")
    assert data.class_names == ("a", "c")
    assert data.label.tolist() == [0, 1, 1]
    with pytest.warns(UserWarning, match="is not a class"):
        assert load(f"folder(path='{tmp_path.as_posix()}/{{split}}')", split="test").class_names == ("a", "c")
