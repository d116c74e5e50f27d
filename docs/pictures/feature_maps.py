"""Draw the pictures of docs/guides/nonlinear.md: `python docs/pictures/feature_maps.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline

from mercer import BucketFeatures, LinearRegression, LogFeatures, MonomialFeatures, SplineFeatures

HERE = Path(__file__).parent
Array = np.ndarray
GREY, COLOURS = "0.6", ("C3", "C0", "C2")


def main() -> None:
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "mercer", "font.size": 9}):
        _save(temperature(), "temperature")
        _save(saturation(), "saturation")
        _save(interaction(), "interaction")


def temperature() -> Any:
    """Draw a response that falls on both sides of 37 °C."""
    rng = np.random.default_rng(0)
    t = rng.uniform(34, 40, (120, 1))
    health = 10 - 2 * (t[:, 0] - 37) ** 2 + rng.normal(size=120)
    line = np.linspace(33.6, 40.4, 300)[:, None]
    square, splines = (
        MonomialFeatures(2, include_bias=False),
        SplineFeatures(include_bias=False, extrapolation="linear"),
    )
    figure, axes = _panels("temperature in °C", "health score")
    _curves(axes[0], t, health, line, {"linear in temperature": ()})
    _curves(axes[1], t, health, line, {"MonomialFeatures(2)": (square,), "SplineFeatures()": (splines,)})
    return figure


def saturation() -> Any:
    """Draw a response that grows with the logarithm of the number of buyers."""
    rng = np.random.default_rng(0)
    bought = np.floor(10 ** rng.uniform(0, 6, (150, 1))) - 1
    relevance = np.log1p(bought[:, 0]) + rng.normal(scale=0.7, size=150)
    line = np.append(0, np.geomspace(1, 1e6, 400))[:, None]
    figure, axes = _panels("N, how many bought it", "relevance")
    _curves(axes[0], bought, relevance, line, {"linear in N": ()})
    after = {"LogFeatures()": (LogFeatures(),), 'BucketFeatures("decades")': (BucketFeatures("decades"),)}
    _curves(axes[1], bought, relevance, line, after)
    for each in axes:
        each.set_xscale("symlog", linthresh=1)
        each.set_xlim(-0.2, 1.2e6)
        each.set_ylim(-2, 17)
    return figure


def interaction() -> Any:
    """Draw a response whose best weight depends on the height."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(58, 78, 160), rng.uniform(45, 110, 160)])
    score = -((52 + 1.9 * (X[:, 0] - 60) - X[:, 1]) ** 2) / 100 + rng.normal(scale=1.0, size=160)
    figure, axes = _panels("height in inches", "weight in kg")
    grid = np.meshgrid(np.linspace(58, 78, 30), np.linspace(45, 110, 30))
    levels = [-36, -25, -16, -9, -4, -1, 0, 1]
    for each, (name, maps) in zip(
        axes,
        {"before: linear": (), "after: MonomialFeatures(2)": (MonomialFeatures(2, include_bias=False),)}.items(),
        strict=True,
    ):
        model = make_pipeline(*maps, LinearRegression()).fit(X, score)
        fitted = model.predict(np.column_stack([part.ravel() for part in grid])).reshape(grid[0].shape)
        each.contourf(*grid, fitted, levels=levels, cmap="viridis", vmin=-36, vmax=2, extend="both", alpha=0.55)
        shown = each.scatter(*X.T, c=score, cmap="viridis", vmin=-36, vmax=2, s=13, edgecolors="0.3", linewidths=0.3)
        each.plot([58, 78], [48.2, 86.2], "k--", lw=1.5, label="ideal weight")
        each.set_title(f"{name}, R² = {model.score(X, score):.2f}")
        each.set_xlim(58, 78)
        each.set_ylim(45, 110)
    axes[0].legend(loc="upper left")
    figure.colorbar(shown, ax=axes, label="health score: points; its fit: ground")
    return figure


def _curves(axes: Any, x: Array, y: Array, line: Array, models: dict[str, tuple[Any, ...]]) -> None:
    axes.plot(x[:, 0], y, ".", color=GREY, ms=4)
    colours = COLOURS[:1] if () in models.values() else COLOURS[1:]
    for (name, maps), colour in zip(models.items(), colours, strict=True):
        model = make_pipeline(*maps, LinearRegression()).fit(x, y)
        axes.plot(line[:, 0], model.predict(line), color=colour, label=f"{name}: R² = {model.score(x, y):.2f}")
    axes.legend(loc="best")


def _panels(x: str, y: str) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.4), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for each, title in zip(axes, ("before", "after"), strict=True):
        each.set(xlabel=x, title=title)
    axes[0].set_ylabel(y)
    return figure, axes


def _save(figure: Any, name: str) -> None:
    figure.savefig(HERE / f"{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
