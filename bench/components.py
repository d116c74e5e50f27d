"""`python -m bench.components`: time and error of kernel ridge regression against the number of features.

Prints the table of docs/guides/large-kernels.md: the same rows by Nyström features (uniform landmarks, or by randomly
pivoted Cholesky) and by Fourier features.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from mercer import KernelRidge, Nystroem, RandomFourierFeatures
from mercer.kernels import RBF

ROWS, NEW, COLUMNS = 200_000, 5_000, 10
COMPONENTS = (100, 300, 1000, 3000)
NOISE = 0.3


def data() -> tuple[Any, Any, Any, Any]:
    """Rows near twenty centres, and a wave through them; new rows without noise."""
    rng = np.random.default_rng(0)
    centres = 2.0 * rng.standard_normal((20, COLUMNS))
    X = centres[rng.integers(20, size=ROWS + NEW)] + 0.5 * rng.standard_normal((ROWS + NEW, COLUMNS))
    f = np.sin(X).sum(axis=1)
    return X[:ROWS], f[:ROWS] + NOISE * rng.standard_normal(ROWS), X[ROWS:], f[ROWS:]


def features(components: int) -> dict[str, Any]:
    return {
        "Nyström, uniform": Nystroem(n_components=components, random_state=0),
        "Nyström, rpcholesky": Nystroem(n_components=components, landmarks="rpcholesky", random_state=0),
        "Fourier, orthogonal": RandomFourierFeatures(n_components=components, sampling="orthogonal", random_state=0),
    }


def main() -> None:
    X, y, new, f = data()
    print("| M | features | seconds | error of predictions | `approximation_.error` | `approximation_.distance` |")
    print("|---|---|---|---|---|---|")
    for components in COMPONENTS:
        for name, approximate in features(components).items():
            model = KernelRidge(alpha=1.0, kernel=RBF(gamma=0.05), approximate=approximate)
            model.fit(X[:5000], y[:5000])  # compiles
            start = time.perf_counter()
            model.fit(X, y)
            taken = time.perf_counter() - start
            error = float(np.sqrt(np.mean((model.predict(new) - f) ** 2)))
            result = model.approximation_
            print(f"| {components} | {name} | {taken:.1f} | {error:.4f} | {result.error:.2g} | {result.distance:.2g} |")


if __name__ == "__main__":
    main()
