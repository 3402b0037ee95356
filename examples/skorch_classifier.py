"""skorch: a network with a robust loss as a scikit-learn classifier, and the wrong labels it finds."""

import numpy as np
import torch
from sklearn.model_selection import cross_val_predict

from noiseproof import data, labels, noise
from noiseproof.integrations.skorch import classifier


class Network(torch.nn.Sequential):
    def __init__(self) -> None:
        super().__init__(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))


def main() -> None:
    digits = data.load("digits")
    noisy = noise.corrupt(digits.label, "symmetric(0.3)", num_classes=10, seed=0)  # 30% wrong on purpose
    X, y = digits.inputs.flatten(1).numpy(), noisy.labels.numpy()

    torch.manual_seed(0)
    net = classifier(Network, "gce(q=0.7)", optimizer=torch.optim.Adam, lr=2e-3, max_epochs=15, verbose=0)
    probabilities = cross_val_predict(net, X, y, cv=3, method="predict_proba")  # of rows it was not fitted on
    found = labels.find(probabilities=probabilities, label=y)
    # in one call, and fitted again with doubtful labels weighted down: labels.find(X, label=y, model=net)

    suspects = found.is_label_issue.to_numpy()
    wrong = np.asarray(noisy.flipped)
    print(f"{suspects.sum()} suspects, {100 * wrong[suspects].mean():.0f}% of them really wrong")


if __name__ == "__main__":
    main()
