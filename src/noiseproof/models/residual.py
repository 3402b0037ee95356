"""Residual blocks of ResNets."""

from torch import Tensor, nn
from torch.nn.functional import pad, relu


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions and a shortcut.

    Reference:
        He et al., Deep Residual Learning for Image Recognition, CVPR 2016, Fig. 5 left
    """

    expansion = 1

    def __init__(self, inputs: int, width: int, stride: int, shortcut: str) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = make_shortcut(inputs, width, stride, shortcut)

    def forward(self, x: Tensor) -> Tensor:
        y = relu(self.bn1(self.conv1(x)), inplace=True)
        return relu(self.bn2(self.conv2(y)) + self.downsample(x), inplace=True)


class Bottleneck(nn.Module):
    """1 x 1, 3 x 3 and 1 x 1 convolutions and a shortcut; the 3 x 3 convolution has the stride.

    Reference:
        He et al., Deep Residual Learning for Image Recognition, CVPR 2016, Fig. 5 right
    """

    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int, shortcut: str) -> None:
        super().__init__()
        outputs = width * self.expansion
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.downsample = make_shortcut(inputs, outputs, stride, shortcut)

    def forward(self, x: Tensor) -> Tensor:
        y = relu(self.bn1(self.conv1(x)), inplace=True)
        y = relu(self.bn2(self.conv2(y)), inplace=True)
        return relu(self.bn3(self.conv3(y)) + self.downsample(x), inplace=True)


class ZeroPad(nn.Module):
    """Option A: every stride-th pixel, padded with zero channels on both sides; no parameters."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.before = (outputs - inputs) // 2
        self.after = outputs - inputs - self.before

    def forward(self, x: Tensor) -> Tensor:
        return pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, self.before, self.after))


def make_shortcut(inputs: int, outputs: int, stride: int, kind: str) -> nn.Module:
    """The identity if shapes agree, else ``pad`` (option A) or ``projection`` (option B)."""
    if stride == 1 and inputs == outputs:
        return nn.Identity()
    if kind == "pad":
        return ZeroPad(inputs, outputs, stride)
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))
