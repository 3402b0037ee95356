"""Use cleanlab and noiseproof together: share probabilities, findings and one Datalab report."""

import numpy as np
from cleanlab import Datalab
from cleanlab.classification import CleanLearning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from noiseproof import data, labels, noise
from noiseproof.integrations.cleanlab import label_issues


def main() -> None:
    digits = data.load("digits")
    noisy = noise.corrupt(digits.label, "symmetric(0.3)", num_classes=10, seed=0)  # 30% wrong on purpose
    X, y = digits.inputs.flatten(1).numpy(), noisy.labels.numpy()
    wrong = np.asarray(noisy.flipped)

    model = LogisticRegression(max_iter=300)
    pred_probs = cross_val_predict(model, X, y, cv=3, method="predict_proba")

    found = labels.find(probabilities=pred_probs, label=y)  # probabilities in
    marked = found.is_label_issue.to_numpy()
    print(f"noiseproof: {marked.sum()} suspects, {100 * wrong[marked].mean():.0f}% of them really wrong")

    learner = CleanLearning(model).fit(X, y, label_issues=label_issues(found))  # issues out
    print(
        f"CleanLearning without them: {100 * learner.score(X, digits.label.numpy()):.1f}% of the true labels"
    )

    lab = Datalab({"X": X, "y": y}, label_name="y", verbosity=0)
    lab.find_issues(pred_probs=pred_probs, issue_types={"label": {}, "noiseproof": {"found": found}})
    print(lab.get_issue_summary().to_string(index=False))


if __name__ == "__main__":
    main()
