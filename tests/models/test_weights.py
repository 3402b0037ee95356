"""Weights from safetensors files."""

import pickle

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from noiseproof import models


def saved(tensors, folder, name="weights.safetensors"):
    save_file({key: tensor.contiguous() for key, tensor in tensors.items()}, folder / name)
    return folder / name


def small(seed=0, num_classes=10):
    return models.get("resnet20", num_classes=num_classes, seed=seed)


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_weights_of_the_same_network_are_loaded_completely(tmp_path):
    source, target = small(1), small(2)
    report = models.load_weights(target, saved(source.state_dict(), tmp_path))
    assert report.complete
    assert same(source.state_dict(), target.state_dict())
    assert str(report).endswith(f"{len(source.state_dict())} of {len(source.state_dict())} tensors loaded")


def test_get_loads_weights_without_warning(tmp_path):
    source = small(1)
    path = saved(source.state_dict(), tmp_path)
    assert same(
        models.get("resnet20", num_classes=10, weights=path, seed=2).state_dict(), source.state_dict()
    )
    assert same(models.get(small(3), num_classes=10, weights=str(path)).state_dict(), source.state_dict())


def test_head_for_another_number_of_classes_is_reported(tmp_path):
    source, target = small(1, 10), small(2, 4)
    head = target.head.weight.clone()
    path = saved(source.state_dict(), tmp_path)
    report = models.load_weights(target, path)
    assert [tuple(wrong) for wrong in report.wrong_shape] == [
        ("head.weight", (10, 64), (4, 64)),
        ("head.bias", (10,), (4,)),
    ]
    assert report.missing == report.unexpected == ()
    assert "head.weight (10, 64) in the file, (4, 64) in the model" in str(report)
    assert torch.equal(target.head.weight, head)
    assert torch.equal(target.body.conv1.weight, source.body.conv1.weight)
    with pytest.warns(UserWarning, match=r"head\.bias \(10,\) in the file"):
        models.get("resnet20", num_classes=4, weights=path)


def test_missing_and_unexpected_tensors_are_listed(tmp_path):
    tensors = small(1).state_dict()
    tensors["stray"] = torch.zeros(2)
    del tensors["head.bias"]
    report = models.load_weights(small(2), saved(tensors, tmp_path))
    assert (report.missing, report.unexpected, report.wrong_shape) == (("head.bias",), ("stray",), ())
    assert "1 in the file but not in the model: stray" in str(report)


@pytest.mark.parametrize("prefix", ["", "module.", "_orig_mod.module."])
@pytest.mark.parametrize(("head", "shortcut"), [("fc", "downsample"), ("linear", "shortcut")])
def test_names_of_common_resnet_code(prefix, head, shortcut, tmp_path):
    source = models.get('resnet20(shortcut="projection")', num_classes=10, seed=1)
    names = {name: name.replace("body.", "").replace("head.", f"{head}.") for name in source.state_dict()}
    foreign = {
        prefix + names[name].replace("downsample", shortcut): tensor
        for name, tensor in source.state_dict().items()
    }
    target = models.get('resnet20(shortcut="projection")', num_classes=10, seed=2)
    assert models.load_weights(target, saved(foreign, tmp_path)).complete
    assert same(source.state_dict(), target.state_dict())


def names_of_torchvision_resnet50():
    """Names and shapes in ``torchvision.models.resnet50().state_dict()``; those of timm are the same."""

    def norm(name, width):
        parts = dict.fromkeys(("weight", "bias", "running_mean", "running_var"), (width,))
        return {f"{name}.{part}": shape for part, shape in parts.items()} | {
            f"{name}.num_batches_tracked": ()
        }

    found, inputs = {"conv1.weight": (64, 3, 7, 7), **norm("bn1", 64)}, 64
    for stage, (blocks, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512)), start=1):
        for block in range(blocks):
            place = f"layer{stage}.{block}"
            layers = {
                "conv1": (width, inputs, 1, 1),
                "conv2": (width, width, 3, 3),
                "conv3": (4 * width, width, 1, 1),
            }
            for number, (layer, shape) in enumerate(layers.items(), start=1):
                found |= {f"{place}.{layer}.weight": shape, **norm(f"{place}.bn{number}", shape[0])}
            if block == 0:
                found[f"{place}.downsample.0.weight"] = (4 * width, inputs, 1, 1)
                found |= norm(f"{place}.downsample.1", 4 * width)
            inputs = 4 * width
    return {**found, "fc.weight": (1000, 2048), "fc.bias": (1000,)}


@pytest.mark.parametrize("where", ["as a path", "in the data folder"])
def test_resnet50_of_torchvision_and_timm_is_loaded_completely(where, tmp_path, monkeypatch):
    shapes = names_of_torchvision_resnet50()
    assert (
        sum(torch.Size(shape).numel() for name, shape in shapes.items() if "running" not in name)
        == 25_557_085
    )
    tensors = {
        name: torch.zeros(shape).to(torch.int64 if not shape else torch.float16)
        for name, shape in shapes.items()
    }
    tensors["layer4.2.bn3.weight"][5] = 7
    path = saved(tensors, tmp_path, "resnet50.safetensors")
    monkeypatch.setenv("NOISEPROOF_DATA", str(tmp_path))
    target = models.get('resnet50(stem="imagenet")', num_classes=14)
    report = models.load_weights(target, path if where == "as a path" else path.name)
    assert (len(report.loaded), report.missing, report.unexpected) == (len(shapes) - 2, (), ())
    assert [wrong.name for wrong in report.wrong_shape] == ["head.weight", "head.bias"]
    assert target.body.layer4[2].bn3.weight[5] == 7
    assert not target.body.conv1.weight.any()


def test_names_of_common_vgg_code(tmp_path):
    source = models.get("vgg19_bn", num_classes=3, seed=1)
    foreign = {
        name.replace("body.", "features.").replace("head.", "classifier."): tensor
        for name, tensor in source.state_dict().items()
    }
    target = models.get("vgg19_bn", num_classes=3, seed=2)
    assert models.load_weights(target, saved(foreign, tmp_path)).complete
    assert same(source.state_dict(), target.state_dict())


def test_exact_names_take_precedence(tmp_path):
    tensors = small(1).state_dict()
    tensors["fc.weight"] = torch.zeros(10, 64)
    target = small(2)
    report = models.load_weights(target, saved(tensors, tmp_path))
    assert report.unexpected == ("fc.weight",)
    assert torch.equal(target.head.weight, tensors["head.weight"])


def test_half_precision_files_load_into_single_precision(tmp_path):
    target = nn.Linear(2, 2)
    models.load_weights(target, saved({"weight": torch.full((2, 2), 0.5, dtype=torch.bfloat16)}, tmp_path))
    assert target.weight.dtype == torch.float32
    assert (target.weight == 0.5).all()


def test_file_without_matching_tensors_is_refused(tmp_path):
    target = small(2)
    before = {name: tensor.clone() for name, tensor in target.state_dict().items()}
    only_counters = {name: torch.tensor(7) for name in before if name.endswith("num_batches_tracked")}
    path = saved({**only_counters, "conv9.weight": torch.zeros(1)}, tmp_path)
    with pytest.raises(ValueError, match="looks like another network: 0 of"):
        models.load_weights(target, path)
    assert same(before, target.state_dict())


class Explodes:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was read",))


@pytest.mark.parametrize(
    ("name", "message"), [("w.pt", "looks like a pickle"), ("w.safetensors", "not a readable")]
)
def test_pickles_are_never_read(name, message, tmp_path):
    (tmp_path / name).write_bytes(pickle.dumps({"weight": Explodes()}))
    with pytest.raises(ValueError, match=message):
        models.load_weights(nn.Linear(2, 2), tmp_path / name)


def test_missing_file_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist: give a safetensors file"):
        models.load_weights(nn.Linear(2, 2), tmp_path / "none.safetensors")


def test_meta_model_is_refused(tmp_path):
    path = saved(small(1).state_dict(), tmp_path)
    with torch.device("meta"), pytest.raises(ValueError, match="meta device"):
        models.load_weights(small(2), path)


@pytest.mark.parametrize(
    ("of", "into"), [("cnn4", "resnet20"), ("resnet18", "cnn8"), ("resnet18", "resnet20")]
)
def test_weights_of_another_network_are_refused(of, into, tmp_path):
    channels = 1 if of == "cnn4" else 3
    path = saved(models.get(of, num_classes=10, in_channels=channels, seed=0).state_dict(), tmp_path)
    with pytest.raises(ValueError, match="looks like another network"):
        models.load_weights(models.get(into, num_classes=10, seed=0), path)
