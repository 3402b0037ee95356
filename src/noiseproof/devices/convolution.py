"""Faster convolutions for small networks in 16-bit precision and channels-last format.

``fast_convolutions`` replaces the convolution layers of a network temporarily; results change by rounding
only. Layers of few channels run Triton kernels behind a torch.library operator: cuDNN is tuned for many
channels, and on an H200 its weight gradient for 16 channels takes four times as long
(benchmarks/convolutions_h200.md). Channel counts that tensor cores handle badly, such as 196, are padded with
zeros. A bias is added after the convolution, where torch.compile fuses it with the batch norm that follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, pad

from ..kernels import apply

DTYPES = (torch.float16, torch.bfloat16)
WIDTHS = (16, 32, 64)
"""Supported numbers of input and output channels."""
FIRST_LAYER_INPUTS = (1, 2, 3, 4, 5)
"""Supported input channels of a first layer: three taps of up to five channels are at most 16 products."""
STRIDES = ((1, 1), (2, 2))
MIN_CAPABILITY = (8, 0)
"""Lowest compute capability whose tensor cores Triton uses."""
MAX_PIXELS_64_TO_64 = 1 << 14
"""From 64 to 64 channels cuDNN is faster beyond this number of pixels."""
MAX_ENTRIES = 1 << 30
"""Largest number of entries of a tensor: offsets are 32-bit integers."""
MULTIPLE = 16
"""Channel counts are padded to a multiple of this; with multiples of 8 cuDNN is slower on an H200."""
PADDED_FROM = 64
"""Channel count above which padding costs less than it saves."""


def should_use_kernel(image: Tensor, weight: Tensor, stride: tuple[int, ...], padding: object) -> bool:
    """Whether ``narrow_convolution`` supports this convolution (without groups or dilation) and is faster.

    Reads no values. The image may still be in fp32: it is cast, as autocast does.
    """
    return (
        is_supported(image, weight)
        and image.shape[1] == weight.shape[1]
        and weight.shape[0] in WIDTHS
        and weight.shape[1] in WIDTHS + FIRST_LAYER_INPUTS
        and weight.shape[2:] == (3, 3)
        and stride in STRIDES
        and padding == (1, 1)
        and _is_of_size(image, weight)
    )


def _is_of_size(image: Tensor, weight: Tensor) -> bool:
    pixels, (outputs, inputs) = len(image) * image.shape[2] * image.shape[3], weight.shape[:2]
    most = MAX_PIXELS_64_TO_64 if (outputs, inputs) == (64, 64) else MAX_ENTRIES // max(outputs, inputs)
    return 0 < pixels <= most


def is_supported(image: Tensor, weight: Tensor) -> bool:
    """Whether the kernels are enabled and the dtypes and memory format are supported."""
    return (
        apply.enabled
        and apply.INSTALLED
        and (image.is_cuda or apply.interpreted)
        and weight.dtype in DTYPES
        and image.dtype in (weight.dtype, torch.float32)
        and image.dim() == 4
        and (image.stride(1) == 1 or image.shape[1] == 1)
    )


def narrow_convolution(image: Tensor, weight: Tensor, stride: int) -> Tensor:
    r"""``conv2d(image, weight, stride=stride, padding=1)`` where ``should_use_kernel`` is true.

    Formula:
        :math:`y_{n,o,i,j} = \sum_{c,a,b} w_{o,c,a,b}\, x_{n,c,\,si+a-1,\,sj+b-1}`, accumulated in fp32
    Shape:
        image (N, C, H, W) channels last, weight (O, C, 3, 3); (N, O, ceil(H / s), ceil(W / s)) channels last
    Gradient:
        with respect to the image, the same sum with reversed weights (by torch at a stride of 2 or for few
        input channels); with respect to the weights, a sum over pixels in a fixed order, hence bitwise
        reproducible. Reverse mode only, once differentiable.
    """
    found: Tensor = _convolution(image.to(weight.dtype), weight, stride)
    return found


@torch.library.custom_op("noiseproof::convolution", mutates_args=())
def _convolution(image: Tensor, weight: Tensor, stride: int) -> Tensor:
    from .convolution_kernels import convolve

    if image.shape[1] != weight.shape[1]:
        raise ValueError(f"image has {image.shape[1]} channels, but weight expects {weight.shape[1]}")
    found = _empty_outputs(image, weight, stride)
    convolve(_channels_last(image), _channels_last(weight), found, stride, reverse=False)
    return found


@_convolution.register_fake
def _(image: Tensor, weight: Tensor, stride: int) -> Tensor:
    return _empty_outputs(image, weight, stride)


@torch.library.custom_op("noiseproof::convolution_image_gradient", mutates_args=())
def _image_gradient(upstream: Tensor, weight: Tensor) -> Tensor:
    from .convolution_kernels import convolve

    found = _empty_inputs(upstream, weight)
    convolve(_channels_last(upstream), _channels_last(weight), found, 1, reverse=True)
    return found


@_image_gradient.register_fake
def _(upstream: Tensor, weight: Tensor) -> Tensor:
    return _empty_inputs(upstream, weight)


@torch.library.custom_op("noiseproof::convolution_weight_parts", mutates_args=())
def _weight_parts(image: Tensor, upstream: Tensor, stride: int) -> Tensor:
    from .convolution_kernels import weight_parts

    return weight_parts(_channels_last(image), _channels_last(upstream), stride)


@_weight_parts.register_fake
def _(image: Tensor, upstream: Tensor, stride: int) -> Tensor:
    from .convolution_kernels import shape_of_parts

    return image.new_empty(shape_of_parts(image.shape, upstream.shape), dtype=torch.float32)


def _setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, int], output: Tensor) -> None:
    image, weight, ctx.stride = inputs
    ctx.save_for_backward(image, weight)


def _backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
    image, weight = ctx.saved_tensors
    upstream = _channels_last(upstream)  # here, so that torch.compile fuses the copy with earlier operations
    image_gradient = weight_gradient = None
    if ctx.needs_input_grad[0]:
        image_gradient = _gradient_of_image(upstream, image, weight, ctx.stride)
    if ctx.needs_input_grad[1]:
        parts = _weight_parts(image, upstream, ctx.stride)
        weight_gradient = parts.sum(0).to(weight.dtype).permute(0, 3, 1, 2)
    return image_gradient, weight_gradient, None


def _gradient_of_image(upstream: Tensor, image: Tensor, weight: Tensor, stride: int) -> Tensor:
    found: Tensor
    if stride == 1 and weight.shape[1] in WIDTHS:
        found = _image_gradient(upstream, weight)
    else:
        both, none, wanted = [stride] * 2, [0, 0], [True, False, False]
        found, *_ = torch.ops.aten.convolution_backward(
            upstream, image, weight, None, both, [1, 1], [1, 1], False, none, 1, wanted
        )
    return found


_convolution.register_autograd(_backward, setup_context=_setup_context)


def _channels_last(tensor: Tensor) -> Tensor:
    return tensor.contiguous(memory_format=torch.channels_last)


def _empty_outputs(image: Tensor, weight: Tensor, stride: int) -> Tensor:
    height, width = (-(-side // stride) for side in image.shape[2:])
    return _empty(image, (len(image), len(weight), height, width))


def _empty_inputs(upstream: Tensor, weight: Tensor) -> Tensor:
    return _empty(upstream, (len(upstream), weight.shape[1], *upstream.shape[2:]))


def _empty(like: Tensor, shape: tuple[int, ...]) -> Tensor:
    return torch.empty(shape, dtype=like.dtype, device=like.device, memory_format=torch.channels_last)


@contextmanager
def fast_convolutions(model: nn.Module, device: torch.device) -> Iterator[None]:
    """Context manager with faster ``nn.Conv2d`` layers of ``model``; subclasses are unchanged."""
    layers = [layer for layer in model.modules() if type(layer) is nn.Conv2d and is_plain(layer)]
    if device.type == "cuda" and torch.cuda.get_device_capability(device) < MIN_CAPABILITY:
        layers = []
    for layer in layers:
        layer.__class__ = FastConvolution
    try:
        yield
    finally:
        for layer in layers:
            layer.__class__ = nn.Conv2d


def is_plain(layer: nn.Conv2d) -> bool:
    """Whether the layer has no groups, no dilation and zero padding."""
    return layer.groups == 1 and layer.dilation == (1, 1) and layer.padding_mode == "zeros"


class FastConvolution(nn.Conv2d):
    """The temporary class of a layer, with the parameters of nn.Conv2d."""

    def forward(self, image: Tensor) -> Tensor:
        if not is_supported(image, self.weight):
            return super().forward(image)
        found = self._without_bias(image)
        return found if self.bias is None else found + self.bias.to(found.dtype).view(1, -1, 1, 1)

    def _without_bias(self, image: Tensor) -> Tensor:
        stride, padding = self.stride, self.padding
        if should_use_kernel(image, self.weight, stride, padding):
            return narrow_convolution(image, self.weight, stride[0])
        outputs, inputs = (missing_channels(size) for size in self.weight.shape[:2])
        if not (outputs or inputs):
            return conv2d(image, self.weight, None, stride, padding)
        weight = pad(self.weight, (0, 0, 0, 0, 0, inputs, 0, outputs))
        found = conv2d(pad(image, (0, 0, 0, 0, 0, inputs)), weight, None, stride, padding)
        return pad(found, (0, 0, 0, 0, 0, -outputs))


def missing_channels(channels: int) -> int:
    """Channels to add for a multiple of 16, where there are more than 64.

    >>> missing_channels(196), missing_channels(128), missing_channels(3)
    (12, 0, 0)
    """
    return -channels % MULTIPLE if channels > PADDED_FROM else 0
