"""Pretrained weights from a local safetensors file; tensors that do not fit are reported."""

from pathlib import Path

import torch
from torch import Tensor, nn

from ..data.locations import weights_file
from ..files import DamagedFileError, read_tensors
from ..memory import available_memory
from .weights_report import Report, WrongShape, few

WRAPPERS = ("module.", "_orig_mod.", "model.")
"""Prefixes that data parallel, torch.compile and trainers add to every name."""
OTHER_NAMES = (
    ("fc.", "head."),
    ("linear.", "head."),
    ("classifier.", "head."),
    ("classif.", "head."),
    ("last_linear.", "head."),
    ("features.", "body."),
    ("", "body."),
)
"""Prefixes of names in files of other libraries, and the prefixes used here."""
PICKLES = (".pt", ".pth", ".bin", ".ckpt", ".pkl", ".tar")


def load_weights(model: nn.Module, path: str | Path) -> Report:
    """Copy the tensors of a safetensors file into ``model`` wherever name and shape agree.

    A head for another number of classes is only reported; a file that fits less than half of the other
    parameters raises ValueError. Names of the common ResNet and VGG code are converted (``fc``, ``linear``,
    ``classifier`` for the head). Pickles are never read: they can run code.

    Example:
        >>> import tempfile
        >>> from safetensors.torch import save_file
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_file({"weight": torch.ones(2, 2)}, f"{folder}/a.safetensors")
        ...     report = load_weights(nn.Linear(2, 2), f"{folder}/a.safetensors")
        >>> report.loaded, report.missing
        (('weight',), ('bias',))
    """
    path = weights_file(path)
    own = {name: tensor for name, tensor in model.state_dict().items() if isinstance(tensor, Tensor)}
    found, unexpected = _renamed(_read(path), own)
    wrong = {name for name, tensor in found.items() if tensor.shape != own[name].shape}
    fits = {name: tensor for name, tensor in found.items() if name not in wrong}
    parameters = dict(model.named_parameters(remove_duplicate=False))
    body = [name for name in parameters if not name.startswith("head.")] or list(parameters)
    if not fits or 2 * sum(name in fits for name in body) < len(body):
        raise ValueError(
            f"{path} looks like another network: {sum(name in fits for name in body)} of {len(body)}"
            f" parameters of {type(model).__name__} fit; the file has {few([*found, *unexpected])};"
            f" the model has {few(list(own))}"
        )
    if any(tensor.is_meta for tensor in own.values()):
        raise ValueError("the model is on the meta device and cannot hold weights: use model.to_empty first")
    with torch.no_grad():
        for name, tensor in fits.items():
            own[name].copy_(tensor)
    missing = tuple(name for name in own if name not in found)
    shapes = tuple(WrongShape(n, tuple(found[n].shape), tuple(own[n].shape)) for n in own if n in wrong)
    return Report(str(path), tuple(n for n in own if n in fits), missing, tuple(unexpected), shapes)


def _read(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist: give a safetensors file of weights")
    if path.suffix.lower() in PICKLES:
        raise ValueError(
            f"{path} looks like a pickle, which can run code when read: if you trust it, convert it with"
            " safetensors.torch.save_file(state_dict, 'weights.safetensors')"
        )
    try:
        return read_tensors(path, available_memory())[0]
    except DamagedFileError as problem:
        raise ValueError(f"{path} is not a readable safetensors file: {problem.reason}") from None


def _renamed(tensors: dict[str, Tensor], own: dict[str, Tensor]) -> tuple[dict[str, Tensor], list[str]]:
    """Tensors by the model's names, exact matches first, and the names that are not in the model."""
    found = {name: tensor for name, tensor in tensors.items() if name in own}
    unexpected = []
    for name, tensor in tensors.items():
        if name in own:
            continue
        new = _name_here(name, own)
        if new is None or new in found:
            unexpected.append(name)
        else:
            found[new] = tensor
    return found, unexpected


def _name_here(name: str, own: dict[str, Tensor]) -> str | None:
    while name not in own and name.startswith(WRAPPERS):
        name = name.partition(".")[2]
    plain = name.replace(".shortcut.", ".downsample.")
    candidates = [name] + [new + plain[len(old) :] for old, new in OTHER_NAMES if plain.startswith(old)]
    return next((candidate for candidate in candidates if candidate in own), None)
