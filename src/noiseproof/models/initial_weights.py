"""How weights start. What is not named here (biases, batch norm, heads) starts as torch has it."""

from torch import nn


def he_normal(model: nn.Module) -> None:
    r"""Convolutions :math:`N(0, 2/\text{fan}_{out})`, their biases 0: ResNets and VGG.

    Reference:
        He et al., Delving Deep into Rectifiers, ICCV 2015
    """
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def he_uniform(model: nn.Module) -> None:
    r"""Convolutions :math:`U(\pm\sqrt{6/\text{fan}_{in}})`, linear layers Xavier uniform: the small CNNs.

    Reference:
        The public code of Normalized Loss Functions (Ma et al., ICML 2020) and of Asymmetric Loss
        Functions (Zhou et al., ICML 2021)
    """
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_uniform_(module.weight, mode="fan_in", nonlinearity="relu")
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
