"""Which features `approximate=` names; whether "auto" is to be exact is for others to say, who know what that costs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils._param_validation import HasMethods, StrOptions

from mercer._errors import KernelError
from mercer.models.kernel_features.nystroem import Nystroem
from mercer.models.kernel_features.random_fourier_features import RandomFourierFeatures

#: what `approximate` may be, in scikit-learn's language
APPROXIMATE = [StrOptions({"nystroem", "fourier", "auto"}), HasMethods(["fit", "transform"]), None]
#: features of n rows: so many times √n, which is of the order that loses nothing to speak of (Rudi et al. 2015)
PER_ROOT, FEWEST = 2.0, 100


def named_features(approximate: Any, n: int) -> Nystroem | RandomFourierFeatures | None:
    """Features for n rows, not fitted yet; None stays None."""
    components = min(n, max(FEWEST, int(PER_ROOT * np.sqrt(n))))
    if approximate is None or isinstance(approximate, Nystroem | RandomFourierFeatures):
        return approximate
    if isinstance(approximate, str) and approximate == "nystroem":
        return Nystroem(n_components=components, landmarks="rpcholesky", random_state=0)
    if isinstance(approximate, str) and approximate == "fourier":
        return RandomFourierFeatures(n_components=components, sampling="orthogonal", random_state=0)
    raise KernelError(
        f"approximate takes None, 'nystroem', 'fourier', 'auto', Nystroem(…) or RandomFourierFeatures(…), got "
        f"{approximate!r}; put other features before a linear model in a Pipeline."
    )
