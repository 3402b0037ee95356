"""Segmentation: find the wrongly labelled regions of images.

Images with squares and discs of two classes on a background; pixels at the borders of objects are ignored
(-100), and in a fifth of the images an object has the wrong class or is missing from the mask.
"""

import torch

from noiseproof import dynamics, labels, losses

IMAGES, HEIGHT, WIDTH, CLASSES = 120, 20, 32, ("background", "square", "disc")


def made_up(seed: int = 0):
    """A square in the left half and a disc in the right half of each image; borders are ignored."""
    random = torch.Generator().manual_seed(seed)
    rows, columns = torch.meshgrid(torch.arange(HEIGHT), torch.arange(WIDTH), indexing="ij")
    images = 0.2 * torch.randn(IMAGES, 1, HEIGHT, WIDTH, generator=random)
    truth = torch.zeros(IMAGES, HEIGHT, WIDTH, dtype=torch.int64)
    mask, is_wrong = truth.clone(), torch.zeros(IMAGES, dtype=torch.bool)
    for number in range(IMAGES):
        for kind, middle in ((1, WIDTH // 4), (2, 3 * WIDTH // 4)):
            top = int(torch.randint(6, HEIGHT - 6, (), generator=random))
            far = torch.stack([rows - top, columns - middle]).abs().float()
            distance = far.amax(0) if kind == 1 else far.norm(dim=0)
            inside, border = distance <= 4, (distance > 3) & (distance <= 5)
            images[number, 0, inside] += 1.0 if kind == 1 else -1.0
            truth[number, inside] = mask[number, inside] = kind
            if torch.rand((), generator=random) < 0.1:
                mask[number, inside] = 3 - kind if torch.rand((), generator=random) < 0.5 else 0
                is_wrong[number] = True
            mask[number, border] = -100
    return images, mask, truth, is_wrong


def main() -> None:
    images, mask, truth, is_wrong = made_up()
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 5, padding=2),
        torch.nn.ReLU(),
        torch.nn.Conv2d(16, 16, 5, padding=2),
        torch.nn.ReLU(),
        torch.nn.Conv2d(16, len(CLASSES), 1),
    )
    loss = losses.get(
        "ce", ignore_index=-100
    )  # gce(q=0.7) never learns the discs, which are 5% of the pixels
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    recorder = dynamics.Recorder((IMAGES, HEIGHT, WIDTH), class_names=CLASSES)
    for _ in range(12):
        for index in torch.randperm(IMAGES).split(12):
            logits = model(images[index])  # (N, C, H, W)
            optimizer.zero_grad()
            loss(logits, mask[index]).backward()
            optimizer.step()
            recorder.write(index, logits, mask[index])
        recorder.end_epoch()

    found = labels.find(recorder.record(), statistics=False)  # one row per pixel
    wrong = ((mask != truth) & (mask >= 0)).flatten()
    pixels = torch.tensor(found["index"][found.is_label_issue].tolist())
    right = wrong[pixels].float().mean()
    print(f"{len(pixels)} suspects, {right:.0%} of them really wrong, of {int(wrong.sum())} wrong pixels")

    doubtful = labels.regions(found, recorder.shape, min_size=10)
    right = is_wrong[doubtful["sample"].tolist()].float().mean()
    print(f"{len(doubtful)} regions of 10 pixels or more, {right:.0%} of them in images with a wrong object")
    print(doubtful.head().round(2).to_string(index=False))


if __name__ == "__main__":
    main()
