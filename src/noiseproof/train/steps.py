"""Which way the steps of a run go: one by one, or captured and replayed."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from typing import Protocol

from torch import nn
from torch.nn.modules.dropout import _DropoutNd

from ..data.inputs import streams
from ..methods import Method
from ..models.classifier import Classifier
from .capture import CaptureError, Captures
from .graph import GraphSteps
from .optimizer import parse_optimizer
from .plain import PlainSteps
from .session import Session


class Steps(Protocol):
    """What the loop needs."""

    def epoch(self) -> Iterator[None]:
        """Do the rest of the current epoch, a step each time the next item is asked for."""


def make_steps(session: Session) -> Steps:
    """Captured where that is possible and ``loop`` allows it; an error where it asks for it in vain."""
    wanted = session.config.loop
    why_not = None if wanted == "plain" else obstacle(session)
    if wanted == "graph" and why_not:
        raise ValueError(f"loop='graph' cannot be used: {why_not}; write loop='auto'")
    if wanted == "plain" or why_not:
        return PlainSteps(session)
    return GraphSteps(session, Captures(session.device)) if wanted == "graph" else GraphIfPossible(session)


def obstacle(session: Session) -> str | None:
    """Why the steps of this session cannot be captured, in words; None if nothing speaks against it."""
    if session.device.type != "cuda":
        return f"the device is {session.device}, graphs are of CUDA"
    if streams(session.train.inputs):
        return "the training data is read from disk as it is needed"
    if not isinstance(session.model, Classifier):
        return "the network is not one of this library, so it may do something else at every step"
    if any(is_random(module) for module in session.model.modules()):
        return "dropout draws from a generator that runs of one process share"
    if not keeps_promise(session.method) or session.method.phase(session.epoch) is None:
        return f"{session.method} does not say in which epochs it does the same"
    if parse_optimizer(session.config.optimizer)[1].get("dampening"):
        return "with dampening the first step is unlike the others"
    return None


def keeps_promise(method: Method) -> bool:
    """Whether the class that has the loss, or one derived from it, is the one that tells phases.

    A loss that was written anew is not what the class before it promised.
    """
    for kind in type(method).__mro__:
        if {"phase", "same_every_epoch"} & vars(kind).keys():
            return True
        if "loss" in vars(kind):
            return False
    return False


def is_random(module: nn.Module) -> bool:
    return isinstance(module, _DropoutNd) and module.p > 0


class GraphIfPossible:
    """Captured steps; plain ones, and a warning, where a capture shows that a step waits for the host."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.steps: Steps = GraphSteps(session, Captures(session.device))

    def epoch(self) -> Iterator[None]:
        try:
            yield from self.steps.epoch()
            return
        except CaptureError as problem:
            warnings.warn(f"{problem}: going on without a graph", stacklevel=2)
        self.steps = PlainSteps(self.session)
        gc.collect()  # what is left of the capture belongs to another stream
        yield from self.steps.epoch()
