"""cleanlab: findings for CleanLearning, and an issue type for Datalab. Needs the extra ``cleanlab``.

In the other direction, ``labels.find(probabilities=pred_probs, label=label)`` accepts ``pred_probs``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..labels import find

try:
    from cleanlab.datalab.internal.issue_manager import (  # type: ignore[import-not-found, import-untyped]
        IssueManager,
    )
    from cleanlab.datalab.internal.issue_manager_factory import (  # type: ignore[import-not-found, import-untyped]
        register,
    )
except ImportError as problem:
    raise ImportError("cleanlab is not installed: pip install 'noiseproof[cleanlab]'") from problem

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]


def label_issues(found: DataFrame) -> DataFrame:
    """The frame of ``labels.find`` in the format of ``CleanLearning(...).fit(X, y, label_issues=...)``.

    Columns is_label_issue, label_quality, given_label, predicted_label; one row per sample, in the order of
    the sample numbers.
    """
    issues = found.sort_values("index")[["is_label_issue", "label_score", "given_label", "predicted_label"]]
    return issues.rename(columns={"label_score": "label_quality"}).reset_index(drop=True)


class LabelsIssueManager(IssueManager):  # type: ignore[misc]
    """The issue type ``noiseproof`` of Datalab; importing this file registers it.

    Example::

        import noiseproof.integrations.cleanlab

        lab = Datalab({"X": X, "y": y}, label_name="y")
        lab.find_issues(issue_types={"noiseproof": {"found": labels.find(X, label=y)}})
        lab.report()  # lab.get_issues("noiseproof")

    Instead of ``found`` it takes ``pred_probs``, or a run, as ``run``.
    """

    description: ClassVar[str] = "Labels that are probably wrong, as noiseproof.labels.find judges them."
    issue_name: ClassVar[str] = "noiseproof"
    verbosity_levels: ClassVar[dict[int, list[str]]] = {0: ["noise_rate"], 1: [], 2: [], 3: []}

    def find_issues(
        self, found: DataFrame | None = None, pred_probs: Any = None, run: Any = None, **more: Any
    ) -> None:
        from pandas import DataFrame

        label = np.asarray(self.datalab.labels)
        if found is None and run is not None:
            found = find(run)
        elif found is None and pred_probs is not None:
            found = find(probabilities=np.asarray(pred_probs), label=label)
        if found is None:
            raise ValueError("noiseproof needs the frame of labels.find: {'noiseproof': {'found': found}}")
        if len(found) != len(label):
            raise ValueError(f"found has {len(found):,} labels, but the Datalab has {len(label):,}")
        issues = label_issues(found)
        score = issues["label_quality"].fillna(1.0).to_numpy(np.float64)
        self.issues = DataFrame(
            {f"is_{self.issue_name}_issue": issues["is_label_issue"].to_numpy(), self.issue_score_key: score}
        )
        self.summary = self.make_summary(score=float(score.mean()))
        self.info = {"noise_rate": found.attrs["noise_rate"], "class_names": found.attrs["class_names"]}


register(LabelsIssueManager)
