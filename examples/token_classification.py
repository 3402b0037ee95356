"""Token classification: find the words with a wrong tag.

Sentences of different lengths, padded with -100, a small recurrent network, 15% of the tags wrong on
purpose.
"""

import torch

from noiseproof import dynamics, labels, losses

SENTENCES, MAX_LENGTH, WORDS, TAGS = 500, 20, 300, ("other", "person", "place", "time")


def made_up(seed: int = 0):
    """The tag of a word is that of its kind, but always "person" after the word 0."""
    random = torch.Generator().manual_seed(seed)
    words = torch.randint(1, WORDS, (SENTENCES, MAX_LENGTH), generator=random)
    words[torch.rand(words.shape, generator=random) < 0.1] = 0
    truth = words % len(TAGS)
    after = torch.zeros_like(words, dtype=torch.bool)
    after[:, 1:] = words[:, :-1] == 0
    truth[after] = 1
    length = torch.randint(5, MAX_LENGTH + 1, (SENTENCES, 1), generator=random)
    is_word = torch.arange(MAX_LENGTH) < length
    wrong = is_word & (torch.rand(words.shape, generator=random) < 0.15)
    other = (truth + torch.randint(1, len(TAGS), truth.shape, generator=random)) % len(TAGS)
    tag = torch.where(is_word, torch.where(wrong, other, truth), -100)
    return words, tag, wrong


class Tagger(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(WORDS, 32)
        self.layer = torch.nn.GRU(32, 32, batch_first=True, bidirectional=True)
        self.head = torch.nn.Linear(64, len(TAGS))

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return self.head(self.layer(self.embedding(words))[0]).movedim(-1, 1)  # (N, C, T), as torch's losses


def main() -> None:
    words, tag, wrong = made_up()
    torch.manual_seed(0)
    model, loss = Tagger(), losses.get("gce(q=0.7)", ignore_index=-100)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    recorder = dynamics.Recorder((SENTENCES, MAX_LENGTH), class_names=TAGS)
    for _ in range(12):
        for index in torch.randperm(SENTENCES).split(25):
            logits = model(words[index])
            optimizer.zero_grad()
            loss(logits, tag[index]).backward()
            optimizer.step()
            recorder.write(index, logits, tag[index])
        recorder.end_epoch()

    found = labels.with_positions(labels.find(recorder.record()), recorder.shape)  # one row per word
    suspects = found[found.is_label_issue]
    right = wrong[suspects["sample"].tolist(), suspects["position"].tolist()].float().mean()
    print(f"{len(suspects)} suspects, {right:.0%} of them really wrong, of {int(wrong.sum())} wrong tags")
    print("sentences to read first:")
    print(
        labels.worst_samples(found.drop(columns=["sample", "position"]), recorder.shape)
        .head()
        .to_string(index=False)
    )


if __name__ == "__main__":
    main()
