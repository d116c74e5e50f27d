"""`python -m bench.gpu [NAME …]`: what a card does, with absolute targets; prints a table and writes bench/GPU.md.

It needs torch with CUDA, Triton, NumPy and mercer, and no rivals. Every row is a function that makes its data on a card
and returns a `Measured`; to add one, write it and name it in ROWS. Seconds are the median of warm calls, synchronised.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
import triton

from bench.gpu_table import FOLDER, SAMPLE, kept, line, write

#: exponentials that a multiprocessor starts in a cycle, and its cycles per second when busy
SPECIAL_PER_CYCLE, CYCLES = 16, 1.98e9
#: bytes that the memory of the card moves in a second, at most
BANDWIDTH = 4.8e12


@dataclass(frozen=True)
class Measured:
    """What came out: `pairs` of a kernel's rows, 0 where none are compared; `limit` in seconds; `error` to float64."""

    seconds: float
    limit: float
    error: float
    pairs: float = 0.0
    first: float | None = None  # where there was more than one call
    note: str = ""


@dataclass(frozen=True)
class Row:
    what: str
    reach: float  # seconds
    measure: Callable[[], Measured]


def once(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and its seconds."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    returned = call()
    torch.cuda.synchronize()
    return returned, time.perf_counter() - start


def timed(call: Callable[[], Any], repeats: int = 5) -> tuple[Any, float, float]:
    """What a call returns, the median of its seconds, and the seconds of the first one, which compiles."""
    _, first = once(call)
    taken = []
    for _ in range(repeats):
        returned, seconds = once(call)
        taken.append(seconds)
    return returned, statistics.median(taken), first


def special_limit(pairs: float) -> float:
    """Seconds that the special function units need for one exponential per pair."""
    return float(pairs / (SPECIAL_PER_CYCLE * CYCLES * torch.cuda.get_device_properties(0).multi_processor_count))


def normal(*shape: int, seed: int = 0) -> Any:
    return torch.randn(*shape, device="cuda", generator=torch.Generator("cuda").manual_seed(seed))


def relative(answer: Any, exact: Any) -> float:
    return float((answer.double() - exact).norm() / exact.norm())


# Kernel sums.


def matvec() -> Measured:
    return _matvec(tf32=False)


def matvec_tf32() -> Measured:
    return _matvec(tf32=True)


def _matvec(tf32: bool) -> Measured:
    from mercer.kernels import RBF
    from mercer.kernels.tensors import TensorGram

    n, d = 1_000_000, 32
    X, v, kernel = normal(n, d), normal(n, seed=1), RBF(gamma=1 / d)
    answer, seconds, first = timed(lambda: TensorGram(kernel, X, tf32=tf32).matvec(v))
    some = torch.arange(0, n, n // SAMPLE, device="cuda")
    exact = TensorGram(kernel, X[some].double(), X.double()).matvec(v.double())
    return Measured(seconds, special_limit(n * n), relative(answer[some], exact), n * n, first)


def kde() -> Measured:
    from mercer import KernelDensity

    n, d = 1_000_000, 16
    X, queries = normal(n, d), normal(n, d, seed=1)
    model = KernelDensity(bandwidth=0.5).fit(X)
    answer, seconds, first = timed(lambda: model.score_samples(queries))
    some = torch.arange(0, n, n // SAMPLE, device="cuda")
    exact = model.score_samples(queries[some].double())
    away = float((answer[some].double() - exact).abs().max())
    return Measured(seconds, special_limit(n * n), away, n * n, first, "error: largest of a log density")


def nadaraya_watson() -> Measured:
    from mercer import NadarayaWatson

    n, d = 1_000_000, 16
    X, queries = normal(n, d), normal(n, d, seed=1)
    y = X[:, 0].sin() + X[:, 1]
    model = NadarayaWatson(bandwidth=0.5).fit(X, y)
    answer, seconds, first = timed(lambda: model.predict(queries))
    some = torch.arange(0, n, n // SAMPLE, device="cuda")
    return Measured(
        seconds, special_limit(n * n), relative(answer[some], model.predict(queries[some].double())), n * n, first
    )


# Linear models.


def logistic() -> Measured:
    """As many readings of X as the fit needs are the limit; the error is the distance to the optimum by float64."""
    from mercer import LogisticRegression

    n, d, block = 10_000_000, 500, 500_000
    X, w = torch.empty(n, d, device="cuda"), normal(d) / d**0.5
    y = torch.empty(n, dtype=torch.int64, device="cuda")
    for start in range(0, n, block):
        X[start : start + block] = normal(block, d, seed=1 + start)
        chance = torch.sigmoid(X[start : start + block] @ w - 0.5)
        y[start : start + block] = torch.rand(block, device="cuda") < chance
    model, seconds, first = timed(lambda: LogisticRegression().fit(X, y))
    readings = int(model.n_iter_[0]) + 1
    note = f"standard errors from the optimum, √(gᵀH⁻¹g), of the coefficients in float64; {readings} readings of X"
    limit = readings * X.numel() * X.itemsize / BANDWIDTH
    return Measured(seconds, limit, _standard_errors(model, X, y, block), first=first, note=note)


def _standard_errors(model: Any, X: Any, y: Any, block: int) -> float:
    """√(gᵀH⁻¹g) of a logistic regression with C = 1, summed in float64."""
    w, level = torch.as_tensor(model.coef_[0], device="cuda").double(), float(model.intercept_[0])
    d = len(w)
    gradient, hessian = torch.cat([w, w.new_zeros(1)]), torch.eye(d + 1, device="cuda", dtype=torch.float64)
    hessian[d, d] = 0.0
    for start in range(0, len(X), block):
        rows = torch.cat([X[start : start + block].double(), w.new_ones(block, 1)], dim=1)
        p = torch.sigmoid(rows[:, :d] @ w + level)
        gradient += rows.T @ (p - y[start : start + block])
        hessian += rows.T @ ((p * (1 - p))[:, None] * rows)
    return float((gradient @ torch.linalg.solve(hessian, gradient)).sqrt())


# Kernel machines.


def _curve(n: int, d: int) -> tuple[Any, Any]:
    """Rows, and what depends on them smoothly, with noise of standard deviation 0.5."""
    X = normal(n, d)
    return X, (X[:, 0] * X[:, 1]).sin() + X[:, 2].cos() + 0.5 * normal(n, seed=1)


def falkon() -> Measured:
    return _nystroem_ridge(10_000_000, 10_000, 1e-6, repeats=2)


def higgs_shape() -> Measured:
    return _nystroem_ridge(11_000_000, 100_000, 1e-5, repeats=0)


def _nystroem_ridge(n: int, landmarks: int, penalty: float, repeats: int) -> Measured:
    """The limit is one exponential for each pair, twice for every step; the error is that of f in float32."""
    from mercer import KernelRidge, Nystroem
    from mercer.kernels import RBF
    from mercer.kernels.tensors import TensorGram

    d = 28
    X, y = _curve(n, d)
    transformer = Nystroem(n_components=landmarks, random_state=0)
    model = KernelRidge(alpha=penalty * n, kernel=RBF(sigma=5.0), approximate=transformer)

    def fit() -> Any:
        made.clear()
        return model.fit(X, y)

    with counted_products(n * landmarks) as made:
        _, seconds, first = timed(fit, repeats) if repeats else (*once(fit), None)
    some, a = X[:: n // SAMPLE], like(model.dual_coef_, X)
    assert model.kernel_ is not None
    exact = TensorGram(model.kernel_, some.double(), like(model.X_fit_, some)).matvec(a)
    answer = TensorGram(model.kernel_, some, like(model.X_fit_, some).float()).matvec(a)
    result = model.certificate_
    pairs = float(n) * landmarks * len(made)
    away = f"{result.value:.1e} standard errors from the optimum, {result.tolerance:.1e} asked for"
    note = f"alpha = {penalty:g} n, {len(made)} products, {repeats or 1} call(s); {away}"
    return Measured(seconds, special_limit(pairs), relative(answer, exact), pairs, first, note)


def exact_ridge() -> Measured:
    """No approximation; the error is what is left over of y, in float64 on some rows."""
    from mercer import KernelRidge
    from mercer.kernels import RBF
    from mercer.kernels.tensors import TensorGram

    n, d = 1_000_000, 10
    X, y = _curve(n, d)
    with counted_products(n * n) as made:
        model, seconds = once(lambda: KernelRidge(alpha=1.0, kernel=RBF(sigma=3.0)).fit(X, y))
    some = torch.arange(0, n, n // SAMPLE, device="cuda")
    a = like(model.dual_coef_, X[some])
    left = TensorGram(model.kernel_, X[some].double(), X.double()).matvec(a) + a[some] - y[some]
    pairs = float(n) ** 2 * len(made)
    return Measured(
        seconds,
        special_limit(pairs),
        float(left.norm() / y[some].double().norm()),
        pairs,
        note=f"one call; {model.plan_.path}",
    )


@contextmanager
def counted_products(pairs: int) -> Iterator[list[str]]:
    """The names of products with kernel matrices of so many pairs that are made within, one for each."""
    from mercer.kernels.tensors import TensorGram

    made: list[str] = []

    def counting(name: str) -> Any:
        original = getattr(TensorGram, name)

        def product(gram: Any, V: Any) -> Any:
            made.extend([name] * (gram.shape[0] * gram.shape[1] == pairs))
            return original(gram, V)

        return patch.object(TensorGram, name, product)

    with counting("times"), counting("rmatvec"):
        yield made


def like(values: Any, tensor: Any) -> Any:
    return torch.as_tensor(values, device=tensor.device, dtype=torch.float64)


ROWS = {
    "gpu_matvec": Row("K v, 1M×1M, d=32, Gaussian, float32 accuracy", 1.0, matvec),
    "gpu_matvec_tf32": Row("the same with products of 11 bits, as for a preconditioner", 1.0, matvec_tf32),
    "gpu_kde": Row("KernelDensity.score_samples, 1M×1M, d=16", 0.7, kde),
    "gpu_nadaraya_watson": Row("NadarayaWatson.predict, 1M×1M, d=16", 0.7, nadaraya_watson),
    "gpu_falkon": Row("KernelRidge with 10k landmarks, 10M×28, float32 accuracy", 4.0, falkon),
    "gpu_higgs_shape": Row("KernelRidge with 100k landmarks, 11M×28", 60.0, higgs_shape),
    "gpu_exact_ridge": Row("KernelRidge without approximation, n=1M, d=10", 120.0, exact_ridge),
    "gpu_logistic": Row("LogisticRegression.fit, 10M×500 on the card, float32", 0.3, logistic),
}


# The table.


def described(name: str, measured: Measured) -> dict[str, Any]:
    """A result as it is kept beside those of other runs."""
    return {
        **asdict(measured),
        "what": ROWS[name].what,
        "reach": ROWS[name].reach,
        "date": datetime.now(UTC).date().isoformat(),
        "card": torch.cuda.get_device_name(),
        "software": f"torch {torch.__version__}, triton {triton.__version__}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.gpu", description="What a card does.")
    parser.add_argument("name", nargs="*", metavar="NAME", help=f"{', '.join(ROWS)}; default: all")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where GPU.md and gpu.json are written")
    arguments = parser.parse_args()
    if unknown := set(arguments.name) - set(ROWS):
        parser.error(f"no workload {', '.join(sorted(unknown))}; there are {', '.join(ROWS)}")
    results = kept()
    for name in arguments.name or ROWS:
        results[name] = described(name, ROWS[name].measure())
        print(line(name, results[name]), end="", flush=True)
        torch.cuda.empty_cache()
        write({each: results[each] for each in ROWS if each in results}, arguments.folder)


if __name__ == "__main__":
    main()
