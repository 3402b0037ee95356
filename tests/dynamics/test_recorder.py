"""Recorder in a training loop of the user."""

import numpy as np
import pytest
import several_processes
import torch
from torch import distributed

from noiseproof import labels
from noiseproof.dynamics import Recorder

SAMPLES, CLASSES, EPOCHS = 40, 4, 3


def logits_of(epoch, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(epoch))


def plain_margin(logits, label):
    """Reference implementation in float64; the class dimension is 1."""
    logits = logits.double()
    others = torch.stack(
        [
            logits[:, [j for j in range(logits.shape[1]) if j != k]].logsumexp(1)
            for k in range(logits.shape[1])
        ],
        1,
    )
    return (logits - others).gather(1, label.unsqueeze(1)).squeeze(1)


def filled(order_seed=0, size=7, **options):
    """A Recorder after three epochs, each in another order, and its logits."""
    recorder, label, said = Recorder(SAMPLES, **options), torch.arange(SAMPLES) % CLASSES, []
    for epoch in range(EPOCHS):
        logits = logits_of(epoch, SAMPLES, CLASSES)
        order = torch.randperm(SAMPLES, generator=torch.Generator().manual_seed(order_seed + epoch))
        for at in order.split(size):
            recorder.write(at, logits[at], label[at])
        recorder.end_epoch()
        said.append(logits)
    return recorder, torch.stack(said), label


def test_margins_and_predictions_of_every_epoch():
    recorder, logits, label = filled()
    record = recorder.record()
    wanted = torch.stack([plain_margin(one, label) for one in logits])
    torch.testing.assert_close(record.margin.double(), wanted, atol=4e-3, rtol=1e-3)
    assert torch.equal(record.prediction.long(), logits.argmax(2))
    assert torch.equal(record.index, torch.arange(SAMPLES))
    assert torch.equal(record.label, label)
    assert record.class_names == ("0", "1", "2", "3")


def test_record_does_not_depend_on_order_or_batch_size():
    first, second = (filled(*how)[0].record() for how in ((0, 7), (50, 13)))
    assert torch.equal(first.margin, second.margin)
    assert torch.equal(first.prediction, second.prediction)


def test_lists_and_arrays_are_accepted():
    recorder = Recorder(3, class_names=["a", "b"])
    logits = np.float32([[1, 0], [0, 1]])
    logits.flags.writeable = False  # as pandas gives them
    recorder.write([2, 0], logits, [0, 1])
    recorder.end_epoch()
    record = recorder.record()
    assert record.index.tolist() == [0, 2]
    assert record.label.tolist() == [1, 0]
    assert record.margin.tolist() == [[1.0, 1.0]]


def test_find_suspects_from_a_recorder():
    """Wrong labels of a small problem are found without clean labels."""
    generator = torch.Generator().manual_seed(0)
    truth = torch.arange(300) % 3
    inputs = 6 * torch.eye(3)[truth] + torch.randn(300, 3, generator=generator)
    label = truth.clone()
    wrong = torch.randperm(300, generator=generator)[:60]
    label[wrong] = (label[wrong] + 1) % 3
    torch.manual_seed(0)
    model, recorder = torch.nn.Linear(3, 3), Recorder(300)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(10):
        for index in torch.randperm(300, generator=generator).split(30):
            logits = model(inputs[index])
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(logits, label[index]).backward()
            optimizer.step()
            recorder.write(index, logits, label[index])
        recorder.end_epoch()
    found = labels.find(recorder.record())
    flagged = torch.tensor(found.is_label_issue.to_list())
    assert not recorder.record().margin.requires_grad
    assert float((truth != label)[flagged].float().mean()) > 0.9
    assert float(flagged[truth != label].float().mean()) > 0.9


def test_tokens_with_ignore_index():
    recorder = Recorder((4, 5))
    label = torch.tensor([[0, 1, -100], [2, -100, 1]])
    logits = logits_of(0, 2, 3, 3)
    recorder.write(torch.tensor([3, 1]), logits, label)
    recorder.end_epoch()
    record = recorder.record()
    sample, place = np.unravel_index(record.index.numpy(), recorder.shape)
    assert list(zip(sample, place, strict=True)) == [(1, 0), (1, 2), (3, 0), (3, 1)]
    assert record.label.tolist() == [2, 1, 0, 1]
    wanted = plain_margin(logits, label.clamp_min(0))[[1, 1, 0, 0], [0, 2, 0, 1]]
    torch.testing.assert_close(record.margin[0].double(), wanted, atol=4e-3, rtol=1e-3)


def test_one_index_per_token():
    recorder = Recorder(6)
    index = torch.tensor([[5, 0], [2, -7]])
    recorder.write(index, logits_of(0, 2, 3, 2), torch.tensor([[1, 2], [0, -100]]))
    recorder.end_epoch()
    assert recorder.record().index.tolist() == [0, 2, 5]


def test_binary_labels():
    recorder = Recorder((3, 2), binary=True)
    logits = torch.tensor([[1.5, -2.0], [0.25, 4.0]])
    recorder.write(torch.tensor([2, 0]), logits, torch.tensor([[1.0, 1.0], [0.0, -100.0]]))
    recorder.end_epoch()
    record = recorder.record()
    assert record.index.tolist() == [0, 4, 5]
    assert record.margin.tolist() == [[-0.25, 1.5, -2.0]]
    assert record.prediction.tolist() == [[1, 1, 0]]
    assert record.label.tolist() == [0, 1, 1]


def test_state_dict_within_an_epoch():
    label = torch.arange(4) % 2

    def write(recorder, epoch, part):
        recorder.write(torch.arange(4)[part], logits_of(epoch, 4, 2)[part], label[part])

    whole, first = Recorder(4), Recorder(4)
    for recorder in (whole, first):
        write(recorder, 0, slice(None))
        recorder.end_epoch()
        write(recorder, 1, slice(0, 2))
    second = Recorder(4)
    second.load_state_dict(first.state_dict())
    for recorder in (whole, second):
        write(recorder, 1, slice(2, 4))
        recorder.end_epoch()
    assert torch.equal(whole.record().margin, second.record().margin)
    assert torch.equal(whole.record().prediction, second.record().prediction)
    with pytest.raises(ValueError, match="has 4 labels, but this Recorder has 5"):
        Recorder(5).load_state_dict(first.state_dict())


def test_position_in_the_batch_as_index_warns():
    recorder = Recorder(10)
    for part in torch.arange(10).split(5):
        recorder.write(torch.arange(5), torch.zeros(5, 3), part % 3)
    with pytest.warns(UserWarning, match=r"labels of 5 of 5 samples have changed.*permanent number"):
        recorder.end_epoch()


def test_two_labels_of_a_sample_in_one_batch_warn():
    recorder = Recorder(3)
    recorder.write([0, 0, 1, 1], torch.zeros(4, 3), [1, 2, 2, 2])
    with pytest.warns(UserWarning, match="labels of 1 of 2 samples have changed, that of sample 0"):
        recorder.end_epoch()


def test_record_is_read_under_autocast():
    recorder, *_ = filled()
    expected = recorder.record()
    with torch.autocast("cpu"):
        found, state = recorder.record(), recorder.state_dict()
    assert torch.equal(found.margin, expected.margin)
    assert torch.equal(state["margins"], recorder.state_dict()["margins"])


def test_epochs_with_another_label_are_discarded():
    recorder = Recorder(2)
    for label in ([0, 1], [0, 0]):
        recorder.write([0, 1], torch.eye(2), label)
        if label == [0, 0]:
            with pytest.warns(UserWarning, match="that of sample 1 from 1 to 0"):
                recorder.end_epoch()
        else:
            recorder.end_epoch()
    record = recorder.record()
    assert record.label.tolist() == [0, 0]
    assert record.margin.isnan().tolist() == [[False, True], [False, False]]


NINE, LABELS = torch.tensor([9]), torch.tensor([0, 1])


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (
            (NINE, torch.zeros(1, 2), LABELS[:1]),
            IndexError,
            "index 9 is out of range: it must be 0 to 3 for a Recorder of 4 samples",
        ),
        ((-NINE, torch.zeros(1, 2), LABELS[:1]), IndexError, "index -9 is out of range"),
        ((LABELS.float(), torch.zeros(2, 2), LABELS), TypeError, r"integers\), got torch.float32"),
        ((LABELS, torch.zeros(2, 2), LABELS + 1), ValueError, r"target\[1\] = 2 is not a valid class index"),
        (
            (LABELS, torch.zeros(2, 2), torch.eye(2)),
            ValueError,
            r"class numbers of shape \(2,\), or .*binary=True",
        ),
        ((LABELS[:1], torch.zeros(2, 2), LABELS), ValueError, "one number per sample"),
        (
            (LABELS, torch.zeros(2, 2, 3), torch.zeros(2, 3).long()),
            ValueError,
            r"use Recorder\(\(4, 3\)\)",
        ),
        ((LABELS, torch.full((2, 2), torch.nan), LABELS), ValueError, "diverged or overflowed"),
    ],
)
def test_invalid_batches_are_refused(given, error, words):
    recorder = Recorder(4)
    with pytest.raises(error, match=words):
        recorder.write(*given)
    recorder.end_epoch()
    assert len(recorder.record()) == 0


def test_invalid_arguments_are_refused():
    with pytest.raises(ValueError, match=r"num_samples=2.5 must be the size"):
        Recorder(2.5)
    recorder = Recorder(2)
    recorder.write(LABELS, torch.eye(2), LABELS)
    with pytest.raises(RuntimeError, match="no epoch has been completed"):
        recorder.record()
    recorder.end_epoch()
    with pytest.raises(ValueError, match="logits have 3 classes, but 2 in earlier batches"):
        recorder.write(LABELS, torch.zeros(2, 3), LABELS)
    with pytest.raises(ValueError, match="2 classes, class_names has 3"):
        Recorder(2, class_names="abc").write(LABELS, torch.eye(2), LABELS)
    with pytest.raises(ValueError, match="labels must be 0, 1"):
        Recorder((2, 2), binary=True).write(LABELS, torch.eye(2), torch.eye(2) / 3)


def in_two_processes():
    """Strided parts, padded with the first samples, as by DistributedSampler."""
    rank, (wanted, logits, label) = distributed.get_rank(), filled()
    recorder = Recorder(SAMPLES)
    for epoch in range(EPOCHS):
        order = torch.randperm(SAMPLES, generator=torch.Generator().manual_seed(epoch))
        order = torch.cat([order, order[: -SAMPLES % 3 or 3]])
        for at in order[rank::2].split(4):
            recorder.write(at, logits[epoch, at], label[at])
        recorder.end_epoch()
    found, wanted = recorder.record(), wanted.record()
    assert torch.equal(found.margin, wanted.margin)
    assert torch.equal(found.prediction, wanted.prediction)
    assert torch.equal(found.label, wanted.label)


def positions_in_the_part_as_index():
    """Each process numbers its own part from 0, which is invalid."""
    recorder, rank = Recorder(4), distributed.get_rank()
    recorder.write(torch.arange(2), torch.zeros(2, 3), torch.arange(2) + rank)
    with pytest.warns(UserWarning, match="permanent number"):
        recorder.end_epoch()
    if rank == 0:
        recorder.write(torch.arange(4), torch.zeros(4, 3), torch.arange(4) % 3)
    recorder.end_epoch()  # the other process has no samples
    assert len(recorder.record()) == 4


def both_in_two_processes():
    in_two_processes()
    positions_in_the_part_as_index()


def test_two_processes():
    several_processes.run(both_in_two_processes)
