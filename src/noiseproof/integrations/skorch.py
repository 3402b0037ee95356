"""skorch: classifiers with robust losses and normalised predict_proba. Needs the extra ``skorch``."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from .. import losses
from ..losses import Loss

try:
    from skorch import NeuralNetClassifier  # type: ignore[import-not-found, import-untyped]
except ImportError as problem:
    raise ImportError("skorch is not installed: pip install 'noiseproof[skorch]'") from problem


def probabilities(logits: Tensor) -> Tensor:
    """Softmax for ``predict_nonlinearity``; by default skorch applies one only for losses of torch.

    Example::

        NeuralNetClassifier(Net, criterion=losses.GCE, criterion__q=0.7, predict_nonlinearity=probabilities)
    """
    return logits.softmax(-1)


def classifier(module: Any, loss: str | Loss = "gce(q=0.7)", **options: Any) -> Any:
    """A ``skorch.NeuralNetClassifier`` with this loss; ``options`` are passed to it.

    It is a scikit-learn classifier, so that ``labels.find(X, label=y, model=classifier(...))`` cross-fits it.

    Example::

        net = classifier(Net, "gce(q=0.7)", max_epochs=20, lr=0.1)
        net.fit(X, y).predict_proba(X)
    """
    return NeuralNetClassifier(
        module, criterion=losses.get(loss), predict_nonlinearity=probabilities, **options
    )
