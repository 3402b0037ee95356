"""Small trees in the official layouts of the real-world datasets; images encode labels as brightness."""

import io

import numpy as np
from PIL import Image

PEOPLE = {"train": ("0001", "0003"), "test": ("00-1", "0000", "0002", "0004")}
DISHES = ("apple_pie", "baklava", "waffles")


def image(label, seed, side=12, kind="JPEG"):
    """A plain grey of 20 * label with a little noise."""
    noise = np.random.default_rng(seed).integers(0, 12, (side, side + 4, 3))
    out = io.BytesIO()
    Image.fromarray((20 * (label % 12) + noise).astype(np.uint8)).save(out, kind, quality=95)
    return out.getvalue()


def put(root, files):
    for name, content in files.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())


def clothing1m(root, *, train=42, clean=28):
    """``noisy_train_key_list.txt`` and the others; classes alternate, every third noisy label is wrong.

    Images with clean labels have noisy ones too: of those for training the second half is wrong by one, the
    others by two.
    """
    parts = {"noisy_train": train, "clean_train": clean, "clean_val": clean, "clean_test": clean}
    labels = {"noisy": [], "clean": []}
    for number, (part, count) in enumerate(parts.items()):
        keys = [f"images/{number}/{n % 3:02d}/{n},{n + 7}.jpg" for n in range(count)]
        given = [(n + (part == "noisy_train" and n % 3 == 0)) % 14 for n in range(count)]
        labels[part.partition("_")[0]] += [f"{key} {k}" for key, k in zip(keys, given, strict=True)]
        if part != "noisy_train":
            wrong = [n // 14 if part == "clean_train" else 2 for n in range(count)]
            labels["noisy"] += [f"{key} {(n + wrong[n]) % 14}" for n, key in enumerate(keys)]
        put(root, {key: image(n % 14, n) for n, key in enumerate(keys)})
        put(root, {f"{part}_key_list.txt": "\n".join(keys) + "\n"})
    put(root, {f"{kind}_label_kv.txt": "\n".join(lines) + "\n" for kind, lines in labels.items()})


def webvision(root, *, classes=60, each=2, imagenet=3):
    synsets = [f"n{1440764 + 5 * k:08d}" for k in range(classes)]
    train = [(f"google/q{k // 10:04d}/{k}_{n}.jpg", k) for k in range(classes) for n in range(each)]
    test = [(f"val{k:06d}.jpg", k) for k in range(classes)]
    put(root, {key: image(k, k) for key, k in train})
    put(root, {f"val_images_256/{key}": image(k, k + 1) for key, k in test})
    put(root, {f"info/{name}.txt": "".join(f"{key} {k}\n" for key, k in lines) for name, lines in
               (("train_filelist_google", train), ("val_filelist", test))})  # fmt: skip
    put(root, {"info/synsets.txt": "".join(f"{name} thing, {k}\n" for k, name in enumerate(synsets))})
    put(root, {f"imagenet/val/{name}/ILSVRC2012_val_{k:08d}.JPEG": image(k, k + 2)
               for k, name in enumerate(synsets[: 50 + imagenet])})  # fmt: skip


def animal10n(root, *, each=2):
    for folder in ("training", "testing"):
        put(root, {f"{folder}/{k}_{n}.jpg": image(k, n) for k in range(10) for n in range(each)})


def food101n(root):
    keys = [f"{dish}/{dish[:2]}{n}.jpg" for dish in DISHES for n in range(4)]
    put(root, {f"Food-101N_release/images/{key}": image(n, n) for n, key in enumerate(keys)})
    meta, checked = root / "Food-101N_release/meta", "class_name/key\tverification_label\n"
    put(
        meta,
        {
            "classes.txt": "class_name\n" + "\n".join(DISHES),
            "imagelist.tsv": "class_name/key\n" + "\n".join(keys),
        },
    )
    put(meta, {"verified_train.tsv": checked + "".join(f"{key}\t{n % 2}\n" for n, key in enumerate(keys))})
    put(
        meta,
        {"verified_val.tsv": checked + "".join(f"{key}\t{n % 3 and 1}\n" for n, key in enumerate(keys))},
    )
    tested = [f"{dish}/{100 + n}" for dish in DISHES for n in range(2)]
    put(root / "food-101", {f"images/{key}.jpg": image(n, n) for n, key in enumerate(tested)})
    put(root / "food-101", {"meta/test.txt": "\n".join(tested)})


def mars(root, *, cameras=2, tracklets=2, frames=3):
    for part, people in PEOPLE.items():
        names = [f"{person}C{c}T{t:04d}F{f:03d}.jpg" for person in people for c in range(1, cameras + 1)
                 for t in range(1, tracklets + 1) for f in range(1, frames + 1)]  # fmt: skip
        put(root, {f"bbox_{part}/{name[:4]}/{name}": image(int(name[2:4].strip("-")) * 3, n)
                   for n, name in enumerate(names)})  # fmt: skip


def mars_info(root, queries=None, frames=3):
    """The lists of the test videos, which count from 1: first and last frame, person, camera."""
    from scipy.io import savemat

    names = sorted(path.name for path in (root / "bbox_test").rglob("*.jpg"))
    tracks = [(n + 1, n + frames, max(0, int(names[n][2:4].strip("-"))), int(names[n][5]))
              for n in range(0, len(names), frames)]  # fmt: skip
    (root / "info").mkdir()
    (root / "info/test_name.txt").write_text("\n".join(names) + "\n")
    savemat(root / "info/tracks_test_info.mat", {"track_test_info": tracks})
    people = [number for number, track in enumerate(tracks, start=1) if track[2] > 0]
    savemat(root / "info/query_IDX.mat", {"query_IDX": np.array(queries or people, float)})


TREES = {made.__name__: made for made in (clothing1m, webvision, animal10n, food101n, mars)}
