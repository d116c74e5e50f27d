"""Models that comparisons are tried on."""

from __future__ import annotations

from typing import Any

from sklearn.naive_bayes import GaussianNB

from mercer import LogisticRegressionCV


class Broken(GaussianNB):  # type: ignore[misc]
    """Fails in every fit, with what Markdown would take for the end of a cell."""

    def fit(self, X: Any, y: Any) -> Any:
        raise ValueError("not | today")


def logistic_path(strengths: list[float], **options: Any) -> LogisticRegressionCV:
    """Logistic regression that chooses one of these strengths by its log loss, as those of a comparison do."""
    return LogisticRegressionCV(
        Cs=strengths, l1_ratios=(0,), scoring="neg_log_loss", use_legacy_attributes=False, **options
    )
