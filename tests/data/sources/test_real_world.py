"""Clothing1M, WebVision, ANIMAL-10N, Food-101N and MARS in their official layouts."""

import pytest
from real_world_trees import DISHES, TREES, image, mars_info, put

from noiseproof.data import DataMissingError, load
from noiseproof.data.locations import NoSplitError
from noiseproof.data.sources.real_world import frame_of, mars_queries


@pytest.fixture(params=TREES)
def name(request):
    return request.param


def tree(tmp_path, name, **options):
    TREES[name](tmp_path / name, **options)
    return tmp_path


def test_images_have_the_pixels_of_their_class(tmp_path, name):
    data = load(f"{name}(size=8)", root=tree(tmp_path, name))
    pixels = data.batch(slice(None)).input
    assert pixels.shape[1:] == (3, 8, 8)
    grey = pixels.float().mean((1, 2, 3)) - 5.5
    label = data.label
    if name == "clothing1m":  # every third label is the next class
        wrong = (data.index % 3 == 0).long()
        label = (label - wrong) % 14
    if name == "food101n":
        label = data.index
    if name == "mars":
        label = (2 * label + 1) * 3
    assert (grey - 20 * (label % 12)).abs().max() < 6


def test_test_data_use_the_training_classes(tmp_path, name):
    root = tree(tmp_path, name)
    train = load(name, root=root)
    if name == "mars":
        with pytest.raises(NoSplitError, match="people of the test videos"):
            load(name, root=root, split="test")
        return
    test = load(f"{name}(size=8)", root=root, split="test")
    assert test.class_names == train.class_names
    assert not set(test.inputs.paths) & set(train.inputs.paths)
    counts = {"clothing1m": (42, 28), "webvision": (100, 50), "animal10n": (20, 20), "food101n": (12, 6)}
    assert (len(train), len(test)) == counts[name]


def test_missing_data_is_reported_in_one_line(tmp_path, name):
    with pytest.raises(DataMissingError) as caught:
        load(name, root=tmp_path)
    assert f"put it into DIR/{name}" in caught.value.brief
    assert "\n" not in caught.value.brief
    assert "data get" not in caught.value.brief


def test_clothing1m_labels_match_the_lists(tmp_path):
    root = tree(tmp_path, "clothing1m")
    noisy, clean = load("clothing1m", root=root), load("clothing1m(clean=True)", root=root)
    assert noisy.label[:4].tolist() == [1, 1, 2, 4]
    assert clean.label[:4].tolist() == [0, 1, 2, 3]
    assert noisy.class_names[13] == "Underwear"
    aside = load("clothing1m", root=root, split="validation")
    assert (len(aside), aside.label[:3].tolist()) == (28, [0, 1, 2])
    lists = root / "clothing1m" / "annotations"
    lists.mkdir()
    for file in (root / "clothing1m").glob("*.txt"):
        file.rename(lists / file.name)
    assert load("clothing1m", root=root).inputs.paths == noisy.inputs.paths


def test_webvision_subsets_and_imagenet_test_images(tmp_path):
    root = tree(tmp_path, "webvision", classes=210, each=1)
    assert len(load("webvision(classes=200)", root=root)) == 200
    with pytest.warns(UserWarning, match="no sample has the label"):
        assert len(load("webvision(classes=400)", root=root)) == 210
    with pytest.raises(ValueError, match=r"classes=60 is unknown, choose one of \(50, 200"):
        load("webvision(classes=60)", root=root)
    other = load("webvision(imagenet=True, size=8)", root=root, split="test")
    assert other.label.tolist() == list(range(50))
    assert all("/imagenet/val/n" in path for path in other.inputs.paths)


def test_food101n_verified_labels(tmp_path):
    root = tree(tmp_path, "food101n")
    checked = load("food101n(verified=True)", root=root)
    assert [path[-7:-4] for path in checked.inputs.paths] == ["ap1", "ap3", "ba1", "ba3", "wa1", "wa3"]
    aside = load("food101n", root=root, split="validation")
    assert (len(aside), checked.class_names) == (8, DISHES)


def test_mars_test_people_exclude_false_detections(tmp_path):
    root = tree(tmp_path, "mars")
    train, test = load("mars", root=root), load('mars(people="test")', root=root)
    assert (train.class_names, test.class_names) == (("0001", "0003"), ("0000", "0002", "0004"))
    assert (len(train), len(test)) == (24, 36)
    assert frame_of("00-1C5T0001F1234.jpg") == (-1, 5, 1, 1234)
    put(root / "mars", {"bbox_train/0001/someone.jpg": image(0, 0)})
    with pytest.raises(ValueError, match=r"is not a file name of MARS, such as 0002C1T0003F017\.jpg"):
        load("mars", root=root)


@pytest.mark.parametrize(
    "key", ["/etc/passwd.jpg", "images/../../x.jpg", "a\\..\\x.jpg", "C:/x.jpg", "..", "a\0.jpg"]
)
def test_paths_outside_the_folder_are_refused(tmp_path, key):
    root = tree(tmp_path, "clothing1m")
    lists = root / "clothing1m"
    put(
        lists,
        {
            "noisy_train_key_list.txt": f"images/0/00/0,7.jpg\n{key}\n",
            "noisy_label_kv.txt": f"images/0/00/0,7.jpg 1\n{key} 1\n",
        },
    )
    with pytest.raises(ValueError, match=r"line 2: .* is not a path inside"):
        load("clothing1m", root=root)
    put(tree(tmp_path, "webvision") / "webvision", {"info/train_filelist_google.txt": f"{key} 1\n"})
    with pytest.raises(ValueError, match=r"line 1: .* is not a path inside"):
        load("webvision", root=root)


WRONG = {
    "noisy_label_kv.txt": ("images/0/00/0,7.jpg 14\n", "has the label '14', not one of 0 ... 13"),
    "noisy_train_key_list.txt": (
        "images/9.jpg\n",
        "line 1: 'images/9.jpg' has no label in noisy_label_kv.txt",
    ),
}


@pytest.mark.parametrize("file", WRONG)
def test_invalid_line_is_reported(tmp_path, file):
    root = tree(tmp_path, "clothing1m")
    if file.startswith("noisy_label"):
        put(root / "clothing1m", {"noisy_train_key_list.txt": "images/0/00/0,7.jpg"})
    put(root / "clothing1m", {file: WRONG[file][0]})
    with pytest.raises(ValueError, match=WRONG[file][1]):
        load("clothing1m", root=root)
    put(root / "clothing1m", {"noisy_label_kv.txt": "images/0/00/0,7.jpg\n"})
    with pytest.raises(ValueError, match="line 1: expected an image and its label"):
        load("clothing1m", root=root)
    put(root / "clothing1m", {"noisy_label_kv.txt": "x.exe 1", "noisy_train_key_list.txt": "x.exe"})
    with pytest.raises(ValueError, match=r"'x.exe' is not a JPEG"):
        load("clothing1m", root=root)


def test_samples_and_root_options_in_the_spec(tmp_path):
    root = tree(tmp_path, "animal10n")
    spec = f"animal10n(root={root.as_posix()!r}, samples=4)"
    assert load(spec).index.tolist() == [0, 6, 12, 19]
    assert len(load("digits(samples=5000)")) == 1400
    with pytest.raises(ValueError, match="samples=1 must be a whole number of at least 2"):
        load("digits(samples=1)")
    with pytest.raises(ValueError, match="csv has no option 'root'"):
        load('csv(path="x.csv", root="y")')


def test_broken_image_can_be_skipped(tmp_path):
    root = tree(tmp_path, "animal10n")
    put(root / "animal10n", {"training/0_0.jpg": b"nothing"})
    with pytest.warns(UserWarning, match="left out sample 0"):
        assert len(load('animal10n(on_error="skip")', root=root)) == 19


def test_official_queries_of_mars(tmp_path):
    assert mars_queries(tmp_path) is None
    TREES["mars"](tmp_path / "mars")
    assert mars_queries(tmp_path) is None
    mars_info(tmp_path / "mars", queries=(1, 4))
    names = sorted(path.name for path in (tmp_path / "mars/bbox_test").rglob("*.jpg"))
    wanted = {frame_of(names[0])[:3], frame_of(names[9])[:3]}
    assert mars_queries(tmp_path) == mars_queries(tmp_path / "mars") == wanted


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("query_IDX.mat", b"no matrix", r"query_IDX.mat does not have the matrix query_IDX"),
        ("tracks_test_info.mat", None, r"tracks_test_info.mat"),
        ("test_name.txt", b"0002C1T0001F001.jpg\n", r"video 4 is not in tracks_test_info.mat and test_name"),
    ],
)
def test_damaged_lists_of_mars_are_named(tmp_path, name, content, message):
    TREES["mars"](tmp_path)
    mars_info(tmp_path, queries=(4,))
    path = tmp_path / "info" / name
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        mars_queries(tmp_path)
