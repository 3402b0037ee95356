import math
import random

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy.stats import chisquare

from noiseproof.counter import draw
from noiseproof.data.augment import (
    AUGMENTATIONS,
    CONSTANTS,
    Augmentation,
    CenterCrop,
    Crop,
    Flip,
    Jitter,
    Normalize,
    Resize,
    Rotate,
    Shift,
    SubtractMean,
    augmentation,
    rotated,
    window,
)
from noiseproof.data.augment.steps import RandomStep

CIFAR = "crop(padding=4) | flip | normalize(cifar10)"
EVERYTHING = "shift | rotate(degrees=20) | crop(padding=2) | flip | resize(size=10) | normalize(cifar10)"
RANDOM = [
    "crop",
    "crop(padding=0, size=5)",
    "flip",
    "shift",
    'shift(width=0.4, fill="edge")',
    "rotate",
    "jitter(hue=0.2)",
]


def photos(count=16, size=8, channels=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shape = (count, channels, size, size)
    return torch.randint(1, 256, shape, dtype=torch.uint8, generator=generator)


def bits(step: RandomStep, index, seed=0, epoch=0):
    return draw(seed=seed, epoch=epoch, index=index, stream=step.stream)


def one_window(image, top, left, size):
    """Pixel by pixel, zero outside."""
    channels, high, wide = image.shape
    out = torch.zeros(channels, size, size, dtype=image.dtype)
    for row in range(size):
        for column in range(size):
            if 0 <= top + row < high and 0 <= left + column < wide:
                out[:, row, column] = image[:, top + row, left + column]
    return out


@pytest.mark.parametrize("step", [Crop(padding=3), Crop(size=5), Crop(padding=2, size=7), Shift(width=0.4)])
def test_crops_and_shifts_are_windows_of_the_padded_image(step):
    images, index = photos(), torch.arange(16)
    top, left = step.offsets(images, bits(step, index, 3, 2))
    size = getattr(step, "size", None) or 8
    expected = [one_window(*each, size) for each in zip(images, top.tolist(), left.tolist(), strict=True)]
    assert torch.equal(step(images, seed=3, epoch=2, index=index), torch.stack(expected))


def test_crop_matches_torch_padding():
    images, index = photos(), torch.arange(16)
    top, left = Crop(padding=4).offsets(images, bits(Crop(padding=4), index))
    padded = torch.nn.functional.pad(images, (4, 4, 4, 4))
    cut = [
        image[:, row : row + 8, column : column + 8]
        for image, row, column in zip(padded, (top + 4).tolist(), (left + 4).tolist(), strict=True)
    ]
    assert torch.equal(Crop(padding=4)(images, index=index), torch.stack(cut))


def test_shift_with_edge_fill():
    images, index = photos(), torch.arange(16)
    step = Shift(width=0.5, height=0.25, fill="edge")
    top, left = step.offsets(images, bits(step, index))
    rows = (top[:, None] + torch.arange(8)).clamp(0, 7)
    columns = (left[:, None] + torch.arange(8)).clamp(0, 7)
    expected = [image[:, rows[i]][:, :, columns[i]] for i, image in enumerate(images)]
    assert torch.equal(step(images, index=index), torch.stack(expected))


def test_flips_mirror_the_chosen_images():
    images, index = photos(), torch.arange(16)
    mirrored = Flip().mirrored(bits(Flip(), index))
    assert 0 < mirrored.sum() < 16
    expected = [image.flip(-1) if turn else image for image, turn in zip(images, mirrored, strict=True)]
    assert torch.equal(Flip()(images, index=index), torch.stack(expected))


@pytest.mark.parametrize("size", [7, 8])
@pytest.mark.parametrize("quarters", [0, 1, 2, 3, 4, -1])
def test_quarter_turns_are_exact(size, quarters):
    images = photos(2, size)
    angle = torch.full((2,), quarters * math.pi / 2, dtype=torch.float64)
    assert torch.equal(rotated(images, angle), torch.rot90(images, quarters, (2, 3)))


@pytest.mark.parametrize("degrees", [-20.0, -7.3, 3.0, 11.0, 44.0, 90.0])
def test_rotation_matches_pillow(degrees):
    """Pixels whose source lies half way between two may differ."""
    image = photos(1, 32)
    mine = rotated(image, torch.tensor([math.radians(degrees)], dtype=torch.float64))[0]
    picture = Image.fromarray(image[0].permute(1, 2, 0).numpy())
    theirs = torch.from_numpy(np.array(picture.rotate(degrees, Image.Resampling.NEAREST))).permute(2, 0, 1)
    assert (mine == theirs).float().mean() > 0.99


def test_rotations_are_within_the_degrees_and_uniform():
    step = Rotate(degrees=20)
    angles = torch.rad2deg(step.angles(bits(step, torch.arange(100_000))))
    assert angles.abs().max() <= 20 + 1e-9
    counts = torch.histc(angles, 40, -20, 20)
    assert chisquare(counts).pvalue > 1e-4


def test_every_one_of_the_81_offsets_is_equally_likely():
    step, images = Crop(padding=4), torch.empty(1, 3, 32, 32)
    top, left = step.offsets(images, bits(step, torch.arange(81_000)))
    counts = torch.bincount((top + 4) * 9 + left + 4, minlength=81)
    assert counts.shape == (81,)
    assert counts.min() > 0
    assert chisquare(counts).pvalue > 1e-4


def test_every_offset_occurs_over_the_epochs():
    step, images, index = Crop(padding=4), torch.empty(1, 3, 32, 32), torch.tensor([17])
    places = [step.offsets(images, bits(step, index, epoch=epoch)) for epoch in range(4050)]
    counts = torch.bincount(torch.stack([(top + 4) * 9 + left + 4 for top, left in places]).flatten())
    assert counts.shape == (81,)
    assert chisquare(counts).pvalue > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("along", ["samples", "epochs", "seeds"])
def test_flips_are_fair_and_independent_over_samples_and_epochs(along):
    """All eight sequences of three flips are equally frequent."""
    number = torch.arange(24_000)
    if along == "samples":
        turns = Flip().mirrored(bits(Flip(), number))
    elif along == "epochs":
        turns = torch.stack([Flip().mirrored(bits(Flip(), torch.tensor([5]), epoch=e)) for e in range(6000)])
    else:
        turns = torch.stack([Flip().mirrored(bits(Flip(), torch.tensor([5]), seed=s)) for s in range(6000)])
    triples = turns.flatten().long().view(-1, 3) @ torch.tensor([4, 2, 1])
    assert chisquare(torch.bincount(triples, minlength=8)).pvalue > 1e-4


def test_crops_and_flips_are_independent():
    index, images = torch.arange(20_000), torch.empty(1, 3, 32, 32)
    top, left = Crop(padding=1).offsets(images, bits(Crop(padding=1), index))
    both = (3 * (top + 1) + left + 1) * 2 + Flip().mirrored(bits(Flip(), index))
    assert chisquare(torch.bincount(both, minlength=18)).pvalue > 1e-4


def test_shifts_cover_the_given_fraction():
    step, images = Shift(width=0.2, height=0.1), torch.empty(1, 3, 32, 32)
    top, left = step.offsets(images, bits(step, torch.arange(5000)))
    assert (top.min(), top.max(), left.min(), left.max()) == (-3, 3, -6, 6)


@given(st.permutations(range(12)), st.integers(1, 12), st.integers(0, 2**40), st.integers(0, 500))
@settings(deadline=None, max_examples=40)
def test_augmentation_does_not_depend_on_the_batch(order, batch_size, seed, epoch):
    """Any order, any split of the data into batches."""
    augment, images, order = augmentation(EVERYTHING), photos(12), torch.tensor(order)
    index = 1000 + 7 * torch.arange(12)
    whole = augment(images, seed=seed, epoch=epoch, index=index)
    parts = [
        augment(images[part], seed=seed, epoch=epoch, index=index[part]) for part in order.split(batch_size)
    ]
    assert torch.equal(torch.cat(parts), whole[order])


@pytest.mark.parametrize("spec", RANDOM)
def test_seed_epoch_and_sample_change_the_augmentation(spec):
    augment, images = augmentation(spec), photos(1, 16).expand(64, -1, -1, -1)
    index = torch.arange(64)
    views = augment(images, seed=1, epoch=1, index=index)
    for other in (
        augment(images, seed=2, epoch=1, index=index),
        augment(images, seed=1, epoch=2, index=index),
        augment(images, seed=1, epoch=1, index=index + 64),
    ):
        assert (other != views).flatten(1).any(1).float().mean() > 0.3
    assert torch.equal(views, augment(images, seed=1, epoch=1, index=index))


@pytest.mark.parametrize("epoch", [0, 7, 2**31 + 5])
def test_epoch_can_be_a_tensor(epoch):
    augment, images, index = augmentation(CIFAR), photos(), torch.arange(16)
    expected = augment(images, seed=4, epoch=epoch, index=index)
    assert torch.equal(augment(images, seed=4, epoch=torch.tensor(epoch), index=index), expected)
    assert torch.equal(augment(images, seed=4, epoch=epoch, index=index.int()), expected)


def test_global_random_state_is_neither_read_nor_changed():
    augment, images, index = augmentation(EVERYTHING), photos(), torch.arange(16)
    first = augment(images, seed=3, epoch=1, index=index)
    torch.manual_seed(99)
    np.random.seed(99)
    random.seed(99)
    before = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()
    assert torch.equal(augment(images, seed=3, epoch=1, index=index), first)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()
    assert random.getstate() == before[2]


@pytest.mark.parametrize("spec", [*RANDOM, CIFAR, EVERYTHING, "none", "center_crop(size=4)"])
def test_uint8_and_float_agree(spec):
    augment, images, index = augmentation(spec), photos(), torch.arange(16)
    views = augment(images, seed=5, epoch=6, index=index)
    assert views.dtype == torch.float32
    assert torch.equal(views, augment(images.float() / 255, seed=5, epoch=6, index=index))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_floating_point_keeps_its_dtype(dtype):
    images, index = photos().to(dtype) / 255, torch.arange(16)
    assert augmentation(CIFAR)(images, index=index).dtype == dtype


def test_augmentation_does_not_depend_on_memory_layout():
    augment, images, index = augmentation(EVERYTHING), photos(), torch.arange(16)
    expected = augment(images, seed=1, index=index)
    channels_last = images.contiguous(memory_format=torch.channels_last)
    assert torch.allclose(augment(channels_last, seed=1, index=index), expected, atol=1e-6)
    strided = torch.stack([images, images], -1)[..., 0]
    assert torch.equal(augment(strided, seed=1, index=index), expected)


def test_inputs_are_not_modified():
    images = photos()
    kept = images.clone()
    augmentation(EVERYTHING)(images, index=torch.arange(16))
    assert torch.equal(images, kept)


def test_compiles_without_graph_breaks():
    torch._dynamo.reset()
    augment, images, index = augmentation(CIFAR), photos(), torch.arange(16)
    compiled = torch.compile(augment, fullgraph=True, backend="aot_eager")
    for epoch in (0, 1, 5, torch.tensor(3), torch.tensor(4)):
        expected = augment(images, seed=2, epoch=epoch, index=index)
        assert torch.equal(compiled(images, seed=2, epoch=epoch, index=index), expected)


@pytest.mark.parametrize("spec", ["shift | rotate", "resize(size=4)"])
def test_other_steps_compile(spec):
    torch._dynamo.reset()
    augment, images, index = augmentation(spec), photos(), torch.arange(16)
    compiled = torch.compile(augment, fullgraph=True, backend="aot_eager")
    assert torch.allclose(compiled(images, seed=2, index=index), augment(images, seed=2, index=index))


def test_repeated_steps_use_different_random_numbers():
    images, index = photos(64), torch.arange(64)
    twice = augmentation("flip | flip")(images, index=index)
    once = augmentation("flip")(images, index=index)
    assert not torch.equal(twice, images.float() / 255)
    assert not torch.equal(twice, once)


def test_repeated_step_keeps_seed_and_repeat():
    flip = Flip()
    twice = augmentation([flip, flip])
    assert [step.repeat for step in twice.steps] == [0, 1]
    assert flip.repeat == 0
    images, index = photos(64), torch.arange(64)
    alone = augmentation([twice.steps[1]])(images, index=index)
    assert torch.equal(alone, augmentation("flip")(images, index=index))
    with pytest.raises(ValueError, match=f"seed={2**62} is out of range"):
        twice.steps[1](images, seed=2**62, index=index)
    twice(images, seed=2**62 - 1, index=index)


def test_repeated_step_of_the_user_gets_another_seed():
    seeds = []

    def step(images, *, seed, epoch, index):
        seeds.append(seed)
        return images

    augmentation([step, step])(photos(), seed=5)
    assert seeds[0] == 5
    assert seeds[1] != 5


def test_crop_larger_than_the_image_is_centred():
    images = photos()
    step = augmentation("crop(padding=2, size=10)").evaluation()
    assert str(step) == "center_crop(size=10, padding=2)"
    assert torch.equal(step(images), torch.nn.functional.pad(images, [1] * 4).float() / 255)
    smaller = Crop(padding=2, size=5).evaluation()(images)
    assert torch.equal(smaller, CenterCrop(size=5)(images))
    odd = CenterCrop(size=9, padding=1)(images)
    assert torch.equal(odd, torch.nn.functional.pad(images, [1, 0, 1, 0]))


def test_fixed_steps_do_not_change_random_steps():
    images, index = photos(), torch.arange(16)
    plain = augmentation("crop | flip")(images, seed=1, index=index)
    shifted = augmentation("subtract_mean(mean=0) | crop | flip")(images, seed=1, index=index)
    assert torch.equal(plain, shifted)


def test_normalize_per_channel():
    images = photos()
    mean, std = (torch.tensor(values).view(3, 1, 1) for values in CONSTANTS["cifar10"])
    assert torch.equal(Normalize("cifar10")(images), (images.float() / 255 - mean) / std)
    assert torch.allclose(Normalize(mean=0.5, std=2)(images), (images.float() / 255 - 0.5) / 2)
    assert torch.allclose(Normalize("cifar10", std=1)(images), images.float() / 255 - mean)


def test_subtract_mean_per_channel_or_image():
    images = photos()
    picture = images.float().mean(0) / 255
    assert torch.allclose(SubtractMean(mean=picture)(images).mean(0), torch.zeros(3, 8, 8), atol=1e-6)
    mean = torch.tensor(CONSTANTS["cifar100"][0]).view(3, 1, 1)
    assert torch.equal(SubtractMean("cifar100")(images), images.float() / 255 - mean)
    assert str(SubtractMean(mean=picture)) == "subtract_mean(mean=<tensor of (3, 8, 8)>)"


def test_resize_keeps_constants_and_size():
    assert torch.allclose(Resize(size=5)(torch.full((1, 1, 9, 4), 0.3)), torch.full((1, 1, 5, 5), 0.3))
    images = torch.rand(1, 3, 6, 6, generator=torch.Generator().manual_seed(0))
    assert torch.equal(Resize(size=6)(images), images)


def test_center_crop():
    images = photos(1, 9)
    assert torch.equal(CenterCrop(size=3)(images), images[:, :, 3:6, 3:6])


def test_windows_outside_the_image_are_zero():
    images = photos(1)
    assert not window(images, torch.tensor([100]), torch.tensor([-100]), 8, 8).any()


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("crop | flip | normalize(cifar10)", "normalize(cifar10)"),
        ("resize(size=256) | crop(size=224) | flip", "resize(size=256) | center_crop(size=224)"),
        ("shift | rotate | subtract_mean(cifar100)", "subtract_mean(cifar100)"),
        ("crop | flip", "none"),
    ],
)
def test_evaluation_keeps_fixed_steps_only(spec, expected):
    evaluation = augmentation(spec).evaluation()
    assert str(evaluation) == expected
    assert not evaluation.is_random
    assert augmentation(spec).is_random == (spec != expected)
    assert torch.equal(evaluation(photos(2, 256)), evaluation(photos(2, 256), seed=9, epoch=9))


def test_steps_of_the_user_get_keywords_and_are_skipped_in_evaluation():
    seen = {}

    def darker(images, *, seed, epoch, index):
        seen.update(seed=seed, epoch=epoch, index=index)
        return images * 0.5

    augment = augmentation(["normalize(mean=0, std=1)", darker, Flip()])
    index = torch.arange(16)
    augment(photos(), seed=3, epoch=2, index=index)
    assert (seen["seed"], seen["epoch"], seen["index"]) == (3, 2, index)
    assert str(augment.evaluation()) == "normalize(mean=0.0, std=1.0)"


@pytest.mark.parametrize(
    "spec",
    [
        CIFAR,
        EVERYTHING,
        *RANDOM,
        "none",
        "center_crop(size=3)",
        "normalize(mean=(0.1, 0.2, 0.3), std=1)",
        "normalize(imagenet, mean=0.5)",
        "subtract_mean(mean=-0.5)",
        "normalize('cifar10')",
    ],
)
def test_augmentation_spec_round_trips(spec):
    first = augmentation(spec)
    second = augmentation(str(first))
    assert str(second) == str(first)
    index = torch.arange(16)
    assert torch.equal(first(photos(), seed=1, index=index), second(photos(), seed=1, index=index))


def test_augmentation_from_none_and_lists():
    given_one = augmentation(CIFAR)
    assert augmentation(given_one) is given_one
    assert str(augmentation(None)) == str(augmentation([])) == "none"
    assert str(augmentation(["crop | flip", Normalize("cifar10")])) == CIFAR
    assert isinstance(augmentation("flip"), Augmentation)


@pytest.mark.parametrize("name", AUGMENTATIONS)
def test_steps_are_registered_by_name(name):
    assert AUGMENTATIONS[name].name == name


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("crp", "unknown step 'crp', did you mean 'crop'"),
        ("crop(pad=4)", "unexpected keyword argument 'pad' .parameters: padding, size"),
        ("crop(4)", "'4' in 'crop.4.' is not a name"),
        ("crop(padding=-1)", "padding=-1 is out of range"),
        ("crop(padding=1.5)", "padding must be a whole number, got 1.5"),
        ("crop(padding=True)", "padding must be a whole number, got True"),
        ("crop(padding=2+2)", "'2.2' is not a plain number"),
        ("crop + flip", "cannot use 'crop . flip'"),
        ("crop(**x)", "cannot use"),
        ("flip(cifar10)", "too many positional"),
        ("normalize", "give mean= and std=, or the name"),
        ("normalize(cifar11)", "unknown constants 'cifar11', did you mean 'cifar10'"),
        ("normalize(mean=0, std=0)", "std=0 is out of range"),
        ("normalize(mean='x', std=1)", "mean must be a finite number"),
        ("normalize(mean=1e999, std=1)", "mean must be a finite number"),
        ("subtract_mean", "give mean="),
        ("shift(width=1)", "width=1 is out of range"),
        ("shift(width='a')", "width must be a number"),
        ("shift(fill='blue')", "fill='blue' is unknown, choose one of zero, edge"),
        ("rotate(degrees=200)", "degrees=200 is out of range"),
        ("rotate(degrees=None)", "degrees must be a number"),
        ("resize", "missing a required argument: 'size'"),
        ("__import__('os').system('x')", "cannot use"),
        ("(lambda: 0)()", "cannot use"),
        ("flip; flip", "cannot read the augmentation"),
        ("", "cannot read the augmentation"),
        ("|", "cannot read the augmentation"),
        ("flip |" * 200 + "flip", "at most 1000 characters"),
        (" | ".join(["flip"] * 51), "at most 50 steps"),
    ],
)
def test_invalid_specs_are_refused(spec, words):
    with pytest.raises((ValueError, TypeError), match=words):
        augmentation(spec)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Crop()(photos()), "pass the sample numbers, index="),
        (lambda: Crop()(photos(), index=torch.arange(15)), "one whole number per image, .16,., got .15,."),
        (lambda: Crop()(photos(), index=torch.arange(16.0)), "torch.float32"),
        (lambda: Crop()(photos()[0], index=torch.arange(3)), "shape .N, C, H, W., got .3, 8, 8."),
        (lambda: Flip()(photos().int(), index=torch.arange(16)), "uint8 or floating point, got torch.int32"),
        (lambda: Crop(size=20)(photos(), index=torch.arange(16)), "does not fit into images of 8 x 8"),
        (lambda: CenterCrop(size=20)(photos()), "does not fit into images of 8 x 8"),
        (lambda: Normalize("cifar10")(photos(channels=1)), "is for 3 channels, the images have 1"),
        (lambda: Flip()(photos(), seed=-1, index=torch.arange(16)), "seed=-1 is out of range"),
        (lambda: Flip()(photos(), epoch=-1, index=torch.arange(16)), "epoch=-1 is out of range"),
        (
            lambda: Flip()(photos(), epoch=torch.ones(2), index=torch.arange(16)),
            "epoch must be one whole number",
        ),
        (lambda: augmentation([3]), "a step must be callable, got 3"),
        (lambda: Flip()(photos(), seed=1.5, index=torch.arange(16)), "seed=1.5 must be a whole number"),
        (lambda: Flip()(photos(), seed=True, index=torch.arange(16)), "seed=True must be a whole number"),
        (lambda: Flip()(photos(), epoch=0.7, index=torch.arange(16)), "epoch=0.7 must be a whole number"),
        (
            lambda: Flip()(photos(), epoch=torch.tensor(True), index=torch.arange(16)),
            "epoch must be one whole number, got .* of torch.bool",
        ),
        (lambda: augmentation("flip")(photos().numpy(), index=torch.arange(16)), "tensor .* got a ndarray"),
        (lambda: Flip()([1, 2], index=torch.arange(2)), "images must be a tensor .* got a list"),
        (lambda: Flip()(photos(), index=[1, 2]), "index must be a tensor"),
        (lambda: SubtractMean(mean=torch.zeros(8))(photos()), "shape of the images, .3, 8, 8."),
        (lambda: SubtractMean(mean=torch.zeros(16, 3, 8, 8))(photos()), "shape of the images, .3, 8, 8."),
        (lambda: CenterCrop(size=11, padding=1)(photos()), "does not fit into images of 8 x 8"),
        (
            lambda: augmentation("flip | flip")(photos(), seed=-(2**41), index=torch.arange(16)),
            f"seed=-{2**41} is out of range",
        ),
        (
            lambda: augmentation("rotate | flip | flip")(photos(), seed=2**62, index=torch.arange(16)),
            f"seed={2**62} is out of range",
        ),
    ],
)
def test_invalid_inputs_are_refused(call, words):
    with pytest.raises((ValueError, TypeError), match=words):
        call()


def test_empty_batch():
    images = photos()[:0]
    assert augmentation(CIFAR)(images, index=torch.arange(0)).shape == (0, 3, 8, 8)


def test_jitter_factors_cover_their_range():
    """A constant grey shows the brightness, a pattern of two greys around 0.5 the contrast."""
    index, half = torch.arange(4000), torch.full((4000, 3, 2, 2), 0.5)
    bright = Jitter(contrast=0, saturation=0)(half, index=index)[:, 0, 0, 0] * 2
    assert abs(bright.min() - 0.6) < 0.01
    assert abs(bright.max() - 1.4) < 0.01
    assert abs(bright.mean() - 1) < 0.02
    half[..., 0], half[..., 1] = 0.25, 0.75
    contrast = Jitter(brightness=0, saturation=0)(half, index=index)
    assert torch.allclose(contrast.mean((1, 2, 3)), torch.tensor(0.5))
    width = (contrast[:, 0, 0, 1] - contrast[:, 0, 0, 0]) * 2
    assert abs(width.min() - 0.6) < 0.01
    assert abs(width.max() - 1.4) < 0.01
    assert abs(torch.corrcoef(torch.stack([bright, width]))[0, 1]) < 0.06


def test_jitter_saturation_keeps_luminance_and_hue_rotates_colours():
    images, index = (
        0.3 + 0.4 * torch.rand(64, 3, 4, 4, generator=torch.Generator().manual_seed(0)),
        torch.arange(64),
    )
    luminance = torch.tensor([0.299, 0.587, 0.114]).view(3, 1, 1)
    pale = Jitter(brightness=0, contrast=0, saturation=0.3)(images, index=index)
    assert torch.allclose((pale * luminance).sum(1), (images * luminance).sum(1), atol=1e-6)
    assert not torch.allclose(pale, images, atol=0.01)
    turned = Jitter(brightness=0, contrast=0, saturation=0, hue=0.5)(images, index=index)
    assert torch.allclose(turned.mean(1), images.mean(1), atol=1e-6)
    assert torch.allclose(turned.square().sum(1), images.square().sum(1), atol=1e-5)  # a rotation
    assert torch.equal(Jitter(brightness=0, contrast=0, saturation=0)(images, index=index), images)
    one = images[:, :1]
    assert torch.equal(Jitter(brightness=0, contrast=0, hue=0.5)(one, index=index), one)


@pytest.mark.parametrize(("option", "most"), [("brightness", 1.0), ("hue", 0.5)])
def test_jitter_arguments_out_of_range_are_refused(option, most):
    for value in (-0.1, most + 0.1):
        with pytest.raises(ValueError, match=f"{option}={value} is out of range, it must be in 0 ... {most}"):
            Jitter(**{option: value})
    with pytest.raises(TypeError, match="must be a finite number"):
        Jitter(**{option: "strong"})
