"""Arrays that compiled loops read without looking how long they are: their sizes have to agree."""

from __future__ import annotations

from typing import Any

from mercer._errors import ModelFileError

#: of each class, which parts have which axes; a letter is the same number throughout an object. Of an estimator d is
#: the number of its columns, and k that of its classes
SHAPES: dict[str, dict[str, str]] = {
    "ComplementNB": {"_product.logs": "dk"},
    "FourierMap": {"weights": "dm", "offset": "m", "shift": "d", "chain.scales": "m"},
    "GaussianClasses": {"centre": "d", "away": "kd", "covariance": "cdd", "seen": "k"},
    "GaussianConditional": {"scores.mean": "kd", "part.columns": "d"},
    "GaussianDiscriminant": {"_densities.centre": "d"},
    "GaussianNB": {"_scores.mean": "kd"},
    "GaussianScores": {"mean": "kd", "inverse_deviation": "kd", "constants": "kd"},
    "LinearDiscriminantAnalysis": {
        "_densities.centre": "d",
        "_decision.centre": "d",
        "_origin": "d",
        "scalings_": "dr",
    },
    "LinearScores": {"centre": "d", "weights": "ds", "intercept": "s"},
    "LogProduct": {"logs": "dk", "impossible": "dk"},
    "MultinomialNB": {"_product.logs": "dk"},
    "QuadraticDiscriminantAnalysis": {"_densities.centre": "d"},
    "RBFSampler": {"random_weights_": "dm", "random_offset_": "m"},
    "RandomFourierFeatures": {"random_weights_": "dm", "random_offset_": "m", "shift_": "d"},
}


def check_shapes(thing: Any) -> None:
    """Compare the sizes of all arrays of an object that belong together."""
    sizes = _own_sizes(thing)
    for path, axes in SHAPES.get(type(thing).__name__, {}).items():
        part = _part(thing, path)
        if part is None:
            continue
        shape = part.shape if hasattr(part, "shape") else (len(part),)
        if len(shape) != len(axes) or any(sizes.setdefault(axis, n) != n for axis, n in zip(axes, shape, strict=True)):
            raise ModelFileError(
                f"The model file is damaged or was tampered with: {path} of a {type(thing).__name__} has the wrong "
                "size."
            )


def _own_sizes(thing: Any) -> dict[str, int]:
    found = vars(thing) if hasattr(thing, "__dict__") else {}
    sizes = {"d": found.get("n_features_in_"), "k": len(found["classes_"]) if "classes_" in found else None}
    return {axis: n for axis, n in sizes.items() if isinstance(n, int)}


def _part(thing: Any, path: str) -> Any:
    for name in path.split("."):
        thing = getattr(thing, name, None)
    return thing
