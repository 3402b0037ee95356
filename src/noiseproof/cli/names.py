"""Names that each setting accepts, for the help, which must not import torch.

A test compares them with the registries.
"""

from __future__ import annotations

NAMES = {
    "data": (
        "digits mnist cifar10 cifar100 cifar_n vehicles10 folder csv parquet arrays npz huggingface"
        " clothing1m webvision animal10n food101n mars"
    ),
    "noise": "symmetric asymmetric sibling pair cycle matrix clothing1m instance human open_set",
    "model": (
        "mlp cnn4 cnn8 resnet20 resnet32 resnet44 resnet56 resnet18 resnet34 resnet50 vgg19_bn googlenet"
        " googlenet_v2 inception_resnet_v2"
    ),
    "loss": (
        "ce focal mae rce sl sce gce truncated_gce tce aul agce ael gr imae nal_fixed nce nfl mse gls ls cr"
        " peer scale shift unit_max binary"
    ),
    "method": (
        "nal elr selc sop bootstrap_soft bootstrap_hard joint forward backward s_adaptation gls_sl"
        " truncated_gce self_paced mentornet_pd d2l decoupling co_teaching elr_plus divide_mix"
    ),
    "augment": "crop center_crop flip shift rotate resize jitter normalize subtract_mean",
    "schedule": "constant cosine step every exponential warm_restarts",
    "optimizer": "sgd adam adamw",
}
"""Setting to the names it accepts."""


def choices(setting: str) -> str:
    """
    >>> choices("optimizer")
    'sgd, adam, adamw'
    """
    return ", ".join(NAMES[setting].split())
