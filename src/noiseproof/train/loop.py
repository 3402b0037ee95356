"""The one loop."""

from __future__ import annotations

from torch import nn

from ..data import Batch, LabelledData
from .batches import batches
from .config import Config
from .device import isolated_random, pick_device
from .finish import finish
from .health import check_health, note_health
from .interrupt import Interruption
from .keeper import Keeper
from .measure import measure
from .order import epoch_order
from .run import Run
from .session import Session
from .task import make_task
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
        data, test: instead of what the config names, for data in memory.
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
    watcher = watcher or Watcher()
    device = pick_device(config.device)
    with Keeper(config) as keeper, Interruption() as interruption, isolated_random(config.seed, device):
        task = make_task(config, data, test)
        session = Session(config, task, device, model)
        keeper.begin(task, session)
        watcher.begin(session.step, session.steps)
        while session.epoch <= session.epochs and not keeper.has_waited_enough(session):
            train_epoch(session, keeper, interruption, watcher)
            line = measure(session, task)
            keeper.end_epoch(session, line)
            session.end_epoch()
            watcher.epoch(line)
        keeper.save(session)
        finish(session, task, keeper)
    watcher.end()
    interruption.pass_on()
    return Run(keeper.folder)


def train_epoch(session: Session, keeper: Keeper, interruption: Interruption, watcher: Watcher) -> None:
    """The rest of the current epoch."""
    order = epoch_order(session.train.index, seed=session.config.seed, epoch=session.epoch)
    last = session.batch + session.steps - session.step
    parts = [order[start:stop] for start, stop in session.bounds[session.batch : last]]
    session.model.train()
    session.method.train()
    for batch in batches(session.train, parts, session.device):
        train_step(session, batch)
        watcher.step(session.step)
        if interruption.received is not None:
            check_health(session)
            keeper.stop(session, interruption.received)
        if keeper.is_time():
            check_health(session)
            keeper.save(session)
    check_health(session)


def train_step(session: Session, batch: Batch) -> None:
    """One step: forward, backward, update, record."""
    config = session.config
    lr = session.set_learning_rate()
    outputs = session.outputs(session.views.train(batch, session.epoch))
    outputs.logits.retain_grad()
    note_health(session, outputs.logits, batch, "logits")
    loss = session.method.loss((outputs,), batch, session.epoch)
    note_health(session, loss, batch, "loss")
    session.optimizer.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    if config.clip is not None:
        nn.utils.clip_grad_norm_(session.parameters, config.clip)
    session.optimizer.step()
    session.observe(batch, outputs.logits, loss, lr)
    session.batch += 1
    session.step += 1
