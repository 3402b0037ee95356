"""The one loop."""

from __future__ import annotations

from torch import nn

from ..data import LabelledData
from ..data.host import on_the_cpu
from .capture import alone
from .config import Config
from .device import isolated_random, pick_device
from .finish import finish
from .health import check_health
from .interrupt import Interruption
from .keeper import Keeper
from .measure import measure
from .out import named_after, with_folder
from .ranks import refuse_ranks
from .run import Run
from .session import Session
from .steps import Steps, make_steps
from .task import make_task
from .threads import fitting_threads
from .watcher import Watcher


def fit(
    config: Config,
    *,
    data: LabelledData | None = None,
    test: LabelledData | None = None,
    model: nn.Module | None = None,
    watcher: Watcher | None = None,
) -> Run:
    """Train as the config says, or go on where an interrupted run of the same config stopped.

    In short::

        data     = load, make labels wrong if asked, put validation data aside
        session  = network, method (a loss, as a rule), optimiser, record
        restore the session from the newest checkpoint, if there is one
        for each epoch:
            for each batch in the order of (seed, epoch):
                logits  = network(view of the batch)
                loss    = method(logits, given labels)
                backward, clip, optimiser step
                record  <- margin, prediction and emphasis of each sample
                checkpoint when it is time, stop when asked to
            measure on validation and test data, write the metrics and the record of the epoch
        write weights, outputs and the result

    Args:
        data, test: instead of what the config names, for data in memory. The run is called after
            ``data.name``; without ``out`` every finished run has a folder of its own.
        model: instead of the network the config names; its own weights are where it begins.
        watcher: is told of the progress.

    Order, views and noise are functions of (seed, epoch, sample): a run that was killed and resumed ends
    with the same bits as one that was not, on the same machine. Clean labels serve the metrics alone.

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
    config = with_folder(named_after(config, data), data)
    with Interruption() as interruption:
        run = train(config, data, test, model, watcher or Watcher(), interruption)
    interruption.pass_on()
    return run


def train(
    config: Config,
    data: LabelledData | None,
    test: LabelledData | None,
    model: nn.Module | None,
    watcher: Watcher,
    interruption: Interruption,
) -> Run:
    """The same for who looks after signals for several runs."""
    refuse_ranks()
    device = pick_device(config.device)
    with on_the_cpu(), Keeper(config) as keeper, isolated_random(config.seed, device):
        task = make_task(config, data, test)
        with alone:  # initial weights come from the random state of the process
            session = Session(config, task, device, model)
        with fitting_threads(session.model, session.views.shape, config.batch_size, device):
            with alone:
                keeper.begin(task, session)
            steps = make_steps(session)
            watcher.begin(session.step, session.steps)
            while session.epoch <= session.epochs and not keeper.has_waited_enough(session):
                train_epoch(session, steps, keeper, interruption, watcher)
                line = measure(session, task)
                keeper.end_epoch(session, line)
                session.end_epoch()
                watcher.epoch(line)
            keeper.save(session)
            finish(session, task, keeper)
    watcher.end()
    return Run(keeper.folder)


def train_epoch(
    session: Session, steps: Steps, keeper: Keeper, interruption: Interruption, watcher: Watcher
) -> None:
    """The rest of the current epoch."""
    session.model.train()
    session.method.train()
    for _ in steps.epoch():
        watcher.step(session.step)
        if interruption.received is not None:
            check_health(session)
            keeper.stop(session, interruption.received)
        if keeper.is_time():
            check_health(session)
            keeper.save(session)
    check_health(session)
