"""Features that approximate a kernel: random Fourier features and Nyström features."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer._lazy import lazy_names

if TYPE_CHECKING:
    from mercer.kernel_approximation._nystroem import Nystroem
    from mercer.kernel_approximation._random_fourier import RandomFourierFeatures, RBFSampler

_MODULES = {
    "_nystroem": ["Nystroem"],
    "_random_fourier": ["RBFSampler", "RandomFourierFeatures"],
}
__all__ = ["Nystroem", "RBFSampler", "RandomFourierFeatures"]
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
