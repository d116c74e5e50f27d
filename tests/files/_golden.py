"""Files of each version of the format, kept for ever, with what the models in them answered when they were written.

`python -m tests.files._golden` writes those of the present version, for models that have none yet: a golden file is
never written anew.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import decision, density, families, kernels
from mercer.files import save
from mercer.files._container import VERSION

GOLDEN = Path(__file__).parent / "golden"

X = [[0.5, 1.0], [1.5, -0.3], [2.5, 0.7], [3.0, 2.2], [4.1, 1.9], [5.2, 3.3], [6.3, 2.4], [7.7, 4.0]]
CLASSES = ["ant", "bee", "ant", "bee", "cat", "cat", "bee", "cat"]
COUNTS = [0.0, 1.0, 1.0, 2.0, 3.0, 2.0, 5.0, 6.0]
TEXTS = ["the cat sat", "a dog sat on a mat", "naïve Bayes", "cats and dogs"]
TABLE = pd.DataFrame(
    {
        "age": [31.5, 40.0, np.nan, 28.0] * 5,
        "city": ["Ulm", "Bonn", "Jena", "Ulm"] * 5,
        "smokes": [True, False, False, True, True] * 4,
    }
)
TIMES = pd.DataFrame({"at": pd.date_range("2024-03-30 18:00", periods=20, freq="5h", tz="Europe/Berlin")})
OUTCOME = ["yes", "no", "no", "yes", "yes"] * 4


class Model(NamedTuple):
    """A fitted model, rows, and the methods to compare."""

    make: Callable[[], Any]
    rows: Any
    methods: tuple[str, ...]


MODELS = {
    "gaussian_nb": Model(lambda: mercer.GaussianNB().fit(X, CLASSES), X, ("predict", "predict_proba")),
    "naive_bayes_of_a_table": Model(
        lambda: mercer.NaiveBayes().fit(TABLE, OUTCOME), TABLE, ("predict", "predict_proba")
    ),
    "gaussian_discriminant": Model(
        lambda: mercer.GaussianDiscriminant("shared full", shrinkage=0.1).fit(X, CLASSES), X, ("predict_proba",)
    ),
    "glm_poisson": Model(
        lambda: mercer.GLM(families.Poisson(), penalty=families.L2(0.1)).fit(X, COUNTS), X, ("predict",)
    ),
    "glm_softmax": Model(
        lambda: mercer.GLM("categorical", penalty=families.L2(1.0)).fit(X, CLASSES), X, ("predict", "predict_proba")
    ),
    "svc_of_a_sum_of_kernels": Model(
        lambda: mercer.SVC(kernel=kernels.RBF(0.2) + 2 * kernels.Linear()).fit(X, CLASSES), X, ("decision_function",)
    ),
    "kernel_density": Model(lambda: mercer.KernelDensity(bandwidth=density.Scott()).fit(X), X, ("score_samples",)),
    "pipeline_of_a_table": Model(
        lambda: make_pipeline(mercer.TableFeatures(), mercer.LogisticRegression()).fit(TABLE, OUTCOME),
        TABLE,
        ("predict", "predict_proba"),
    ),
    "table_of_times": Model(lambda: mercer.TableFeatures(output="array").fit(TIMES), TIMES, ("transform",)),
    "pipeline_of_texts": Model(
        lambda: make_pipeline(mercer.TfidfVectorizer(), mercer.MultinomialNB()).fit(TEXTS, [0, 0, 1, 0]),
        TEXTS,
        ("predict_proba",),
    ),
    "pipeline_of_scaled_rows": Model(
        lambda: make_pipeline(StandardScaler(), mercer.Ridge()).fit(X, COUNTS), X, ("predict",)
    ),
    "density_outliers": Model(
        lambda: mercer.DensityOutliers(fdr=0.5, random_state=np.random.RandomState(0)).fit(X), X, ("p_values",)
    ),
    "calibrated": Model(
        lambda: decision.Calibrated(mercer.GaussianNB(), cv=2).fit(X[:6] * 2, CLASSES[:6] * 2), X, ("predict_proba",)
    ),
}


def answers(model: Any, about: Model) -> dict[str, Any]:
    """Return the results of all methods."""
    return {name: np.asarray(getattr(model, name)(about.rows)).tolist() for name in about.methods}


def write() -> None:
    """Write files of the current version for models that have none."""
    folder = GOLDEN / f"v{VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    for name, about in MODELS.items():
        if not (folder / f"{name}.mercer").exists():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = about.make()
            save(model, folder / f"{name}.mercer")
            (folder / f"{name}.json").write_text(json.dumps(answers(model, about), indent=1) + "\n")


if __name__ == "__main__":
    write()
