"""scikit-learn: the classifier in a pipeline and a grid search, and any estimator to find wrong labels."""

import numpy as np
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from noiseproof import NoiseproofClassifier, labels, noise


def main() -> None:
    X, truth = load_wine(return_X_y=True)
    noisy = noise.corrupt(truth, "symmetric(0.3)", num_classes=3, seed=0)  # 30% wrong on purpose
    y, wrong = noisy.labels.numpy(), np.asarray(noisy.flipped)

    model = make_pipeline(StandardScaler(), NoiseproofClassifier(model="linear", random_state=0))
    print(f"agreement with the given labels, 3 folds: {cross_val_score(model, X, y, cv=3).mean():.2f}")
    print(f"with the true ones: {(model.fit(X, y).predict(X) == truth).mean():.2f}")

    judged = {
        "an estimator": labels.find(X, label=y, model=RandomForestClassifier(random_state=0)),
        "probabilities": labels.find(
            probabilities=cross_val_predict(
                make_pipeline(StandardScaler(), LogisticRegression()), X, y, method="predict_proba"
            ),
            label=y,
        ),
    }
    for name, found in judged.items():
        marked = found.is_label_issue.to_numpy()
        print(f"{name}: {marked.sum()} suspects, {100 * wrong[marked].mean():.0f}% of them really wrong")


if __name__ == "__main__":
    main()
