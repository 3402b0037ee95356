"""``fit``: the training loop."""

from __future__ import annotations

from torch import nn

from ..data import LabelledData
from ..devices.capture import capture_lock
from ..devices.device import isolated_random, suitable_threads
from ..devices.distributed import connected_processes
from ..memory import on_the_cpu
from ..processes import Interruption
from .callbacks import Line, Watcher, notebook_line
from .config import AUTO, Config
from .evaluate import InEvaluation, measure
from .graph import Steps, make_steps
from .nan_guard import check_health
from .run import Run
from .run_writer import RunWriter
from .session import Session
from .task import make_task, with_source_and_folder


def fit(
    config: Config,
    *,
    data: LabelledData | None = None,
    test: LabelledData | None = None,
    model: nn.Module | None = None,
    watcher: Watcher | None = None,
) -> Run:
    """Train as the config says, or resume an interrupted run of the same config.

    In short::

        data     = load, add label noise, split off validation data
        session  = network, method (usually a loss), optimiser, record
        restore the session from the newest checkpoint, if there is one
        for each epoch:
            for each batch in the order of (seed, epoch):
                logits  = network(view of the batch)
                loss    = method(logits, given labels)
                backward, clip, optimiser step
                record  <- margin, prediction and emphasis of each sample
                checkpoint when it is due, stop after a signal
            measure on validation and test data, write the metrics and the record of the epoch
        write weights, outputs and the result

    Args:
        data, test: data in memory, used instead of the sources in the config. The run is named after
            ``data.name``; without ``out`` each run gets a new folder.
        model: a network, used instead of the one in the config; training starts from its weights.
        watcher: its methods are called with the progress of the run. By default, a notebook shows one line
            below the cell.

    The order of the samples, augmentation and noise are functions of (seed, epoch, sample): on the same
    machine, a run that was killed and resumed gives bitwise the same results as an uninterrupted run. Clean
    labels are used for metrics only.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     run = fit(Config(noise="symmetric(0.4)", loss="mae", epochs=2, out=f"{folder}/run"))
        ...     run.finished, len(run.metrics), run.record
        (True, 2, Record(2 epochs of 1400 samples, 10 classes))
    """
    if not isinstance(config, Config):
        got = repr(config) if isinstance(config, str) else f"a {type(config).__name__}"
        raise TypeError(f"fit takes a Config, got {got}: write fit(Config(data='digits')) with your settings")
    config = with_source_and_folder(config, data)
    with Interruption() as interruption:
        run = train(config, data, test, model, watcher or Line(config, notebook_line()), interruption)
    interruption.raise_again()
    return run


def train(
    config: Config,
    data: LabelledData | None,
    test: LabelledData | None,
    model: nn.Module | None,
    watcher: Watcher,
    interruption: Interruption,
) -> Run:
    """Like ``fit``, but the caller handles signals through ``interruption``."""
    if config.loss == AUTO:
        raise ValueError(
            "loss='auto' is only for auto.fit and 'noiseproof train --loss auto', which choose the loss"
        )
    with (
        connected_processes(config.device) as ranks,
        on_the_cpu(),
        RunWriter(config, ranks) as writer,
        isolated_random(config.seed, device := ranks.device),
    ):
        watcher = watcher if ranks.is_first else Watcher()
        task = make_task(config, data, test)
        with capture_lock:  # initial weights are drawn from the random state of the process
            session = Session(config, task, device, model, ranks)
        with suitable_threads(session.model, session.views.shape, config.batch_size, device):
            with capture_lock:
                writer.begin(task, session)
            steps = make_steps(session)
            watcher.begin(session.step, session.steps)
            while session.epoch <= session.epochs and not writer.is_out_of_patience(session):
                train_epoch(session, steps, writer, interruption, watcher)
                line = measure(session, task)
                writer.end_epoch(session, line)
                session.method.between_epochs(InEvaluation(session, task, line), session.epoch)
                session.end_epoch()
                watcher.epoch(line)
            writer.save(session)
            writer.finish(session, task)
        watcher.end()
    return Run(writer.folder)


def train_epoch(
    session: Session, steps: Steps, writer: RunWriter, interruption: Interruption, watcher: Watcher
) -> None:
    """Train the rest of the current epoch."""
    session.model.train()
    session.method.train()
    for _ in steps.epoch():
        watcher.step(session.step)
        signal, is_due = session.ranks.agreed(interruption.received, writer.is_checkpoint_due())
        if signal is not None:
            check_health(session)
            writer.stop(session, signal)
        if is_due:
            check_health(session)
            writer.save(session)
    check_health(session)
