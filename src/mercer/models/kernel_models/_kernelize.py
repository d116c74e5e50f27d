"""Any norm-regularised model with any kernel: the representer theorem as a function (lecture 1)."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from mercer._errors import NoRepresenterError
from mercer.base import resolve, traits_of
from mercer.kernels import kernel_from


def kernelize(model: Any, kernel: Any, approximate: Any = None) -> Any:
    """A model with the features of a kernel in the place of its columns, not fitted yet.

    A model with a linear function w·x + b, fitted to losses plus λ/2 ‖w‖², sees its rows only through products: w is a
    sum of rows. With k(x, z) for these products, the same model is fitted to features that need never be written out.

    Parameters
    ----------
    model : Ridge, LogisticRegression, PoissonRegressor, GammaRegressor, TweedieRegressor, GLM, Perceptron or \
LinearThreshold(rule="perceptron")
        What to fit; it is copied, not changed. Parameters such as C, alpha, fit_intercept or class_weight keep their
        meaning. Models whose penalty is no norm (the lasso), and those without one, are refused: their optimum
        need not be a sum of rows. `warm_start` has an effect on a `GLM` alone: every other fit starts anew.
    kernel : str, Kernel or callable
        What compares two rows: "rbf", `RBF(gamma=0.1)`, `Spectrum(3)` for texts, a function k(x, z), ….
    approximate : {"nystroem", "fourier", "auto"}, Nystroem, RandomFourierFeatures or None, default=None
        Features that stand for the kernel, so that rows may be millions; see `GLM`. A perceptron has none.

    Returns
    -------
    estimator : Kernelized, KernelPerceptron or GLM
        With scikit-learn's interface: parameters are reached by `model__C` and `kernel__gamma`; a `GLM` keeps its
        own.

    Examples
    --------
    >>> from mercer import LogisticRegression, kernelize
    >>> from mercer.kernels import RBF
    >>> from sklearn.datasets import make_circles
    >>> X, y = make_circles(100, noise=0.05, factor=0.5, random_state=0)
    >>> model = kernelize(LogisticRegression(C=10), RBF(gamma=1)).fit(X, y)
    >>> model.score(X, y), model.certificate_.holds
    (1.0, True)
    """
    if isinstance(model, type) or not hasattr(model, "get_params"):
        raise NoRepresenterError(
            f"kernelize takes a model such as Ridge() or LogisticRegression(), got {model!r}; give an estimator."
        )
    # a kernel by its name becomes an object, so that its parameters can be searched
    model, chosen = clone(model), kernel_from(kernel)
    if (form := traits_of(model).kernelize) is not None:
        return resolve(form)(model, chosen, approximate)
    from mercer.models.kernel_models.kernelized import Kernelized
    from mercer.models.kernel_models.norm_regularised import norm_regularised

    norm_regularised(model)
    return Kernelized(model, chosen, approximate)
