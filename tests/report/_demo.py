"""A page with a block of every kind, made without any model: `python tests/report/_demo.py demo.html` writes it."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np

from mercer.report import (
    Axis,
    Bars,
    Chart,
    CostTable,
    EvidenceRecord,
    Field,
    Grid,
    Heat,
    Line,
    Note,
    Page,
    PointCloud,
    RowTable,
    Section,
)

RNG = np.random.default_rng(0)
CLASSES = ("absent", "present")
#: a name that would do harm if it were not taken for text
RUDE = '<script>alert(1)</script>"onload='
ANSWER = """Use LogisticRegression. It is as good as any other here, and it can say why.

The differences between the first three are within the noise."""
COLUMNS = ("age", "chest pain", "max heart rate", "oldpeak", "vessels", RUDE)


def leaderboard() -> Grid:
    fields = (
        Field("model"), Field("kind"), Field("log loss", ".3f"), Field("interval"), Field("AUC", ".3f"),
        Field("fit seconds", ".2f"),
    )  # fmt: skip
    rows = (
        ("NaiveBayes", "generative", 0.412, "0.38 to 0.44", 0.901, 0.02),
        ("LogisticRegression", "discriminative", 0.398, "0.36 to 0.43", 0.906, 0.11),
        ("LinearDiscriminantAnalysis", "generative", 0.401, "0.36 to 0.44", 0.904, 0.01),
        ("SVC", "kernel", 0.431, "0.39 to 0.47", 0.893, 1.4),
        ("Perceptron", "direct", None, "–", 0.861, 0.004),
        ("KernelBayes", "generative", 10.5, "9.9 to 11.2", 0.877, 0.03),
        ("always the most frequent", "baseline", 0.687, "0.68 to 0.69", 0.5, 0.0),
    )
    return Grid("Leaderboard, best first", fields, rows, ("Intervals are over 5 × 10 folds.",))


def learning_curves() -> Chart:
    sizes = np.array([10, 20, 40, 80, 160, 320, 640.0])
    nb, lr = 0.18 + 0.6 / sizes**0.7, 0.155 + 2.1 / sizes**0.8
    marks = tuple(
        Line(name, sizes, y, y - 0.5 / np.sqrt(sizes) / 3, y + 0.5 / np.sqrt(sizes) / 3)
        for name, y in (("NaiveBayes", nb), ("LogisticRegression", lr))
    )
    cross = Line("crossover at 118 rows", [118, 118], [0.15, 0.42], dashed=True)
    caption = "Naive Bayes is ahead until about 118 rows; from there on logistic regression is."
    return Chart("Error by number of rows", Axis("rows to learn from", "log"), Axis("error"), (*marks, cross), caption)


def roc() -> Chart:
    grid = np.linspace(0, 1, 400)
    curves = tuple(Line(name, grid, grid**power) for name, power in zip(MODELS, (0.18, 0.2, 0.26), strict=True))
    unit = (Axis("false positives", low=0, high=1), Axis("true positives", low=0, high=1))
    return Chart("ROC", *unit, (Line("", [0, 1], [0, 1], dashed=True), *curves))


def calibration() -> Chart:
    p = np.linspace(0.05, 0.95, 10)
    points = tuple(
        PointCloud(name, p + shift, p**bend, [f"{n} rows" for n in range(12, 22)], p**bend - 0.06, p**bend + 0.06)
        for name, bend, shift in (("NaiveBayes", 1.4, 0.0), ("LogisticRegression", 1.05, 0.012))
    )
    unit = (Axis("probability said", low=0, high=1), Axis("share that came true", low=0, high=1))
    return Chart("Calibration", *unit, (Line("", [0, 1], [0, 1], dashed=True), *points), "On the diagonal, as said.")


def coefficients() -> Chart:
    values = np.array([1.9, 1.1, -0.9, 0.55, 0.32, -0.05])
    bars = Bars("log odds", COLUMNS, values, values - 0.4, values + 0.4)
    return Chart("Coefficients", Axis("log odds for one standard deviation"), Axis(""), (bars,), "With 95 % intervals.")


def two_bars() -> Chart:
    names = ("0 %", "10 %", "30 %")
    marks = (Bars("NaiveBayes", names, [0.83, 0.82, 0.79]), Bars("LogisticRegression", names, [0.85, 0.80, 0.71]))
    return Chart("Accuracy as values go missing", Axis("accuracy", form=".2f"), Axis("values removed"), marks)


def confusion() -> Chart:
    heat = Heat("rows", CLASSES, CLASSES, [[132, 18], [25, 95]], form=".0f")
    return Chart("Confusion of NaiveBayes", Axis("decision"), Axis("truth"), (heat,))


def regions() -> Chart:
    edges = np.linspace(-3, 3, 41)
    x, y = np.meshgrid((edges[1:] + edges[:-1]) / 2, (edges[1:] + edges[:-1]) / 2)
    p = 1 / (1 + np.exp(-(x + y * y - 1.5)))
    heat = Heat("decision", edges, edges, p > 0.5, classes=CLASSES, shades=np.maximum(p, 1 - p) * 2 - 1)
    cloud = RNG.normal(size=(160, 2))
    present = cloud[:, 0] + cloud[:, 1] ** 2 + RNG.normal(size=160) > 1.5
    points = tuple(
        PointCloud(name, *cloud[present == k].T, labels=[f"row {i}" for i in np.flatnonzero(present == k)])
        for k, name in enumerate(CLASSES)
    )
    return Chart("Decision regions", Axis("age (standardised)"), Axis("oldpeak (standardised)"), (heat, *points))


def density() -> Chart:
    edges = np.linspace(-2, 2, 31)
    middle = (edges[1:] + edges[:-1]) / 2
    heat = Heat("density", edges, edges, np.exp(-0.5 * np.add.outer(middle**2, 2 * middle**2)))
    return Chart("Density", Axis("age"), Axis("oldpeak"), (heat,))


def gaps() -> Chart:
    x = np.linspace(0, 10, 60)
    y = np.where((x > 4) & (x < 5), np.nan, np.sin(x))
    y[3] = np.inf
    return Chart("A curve with gaps", Axis("x"), Axis("y"), (Line("sine", x, y, y - 0.2, y + 0.2),))


def nothing() -> Chart:
    return Chart(
        "An empty chart", Axis("x"), Axis("y"), (Line("nothing", [], []), PointCloud("NaN", [math.nan], [1.0]))
    )


def histograms() -> tuple[Chart, ...]:
    edges = np.arange(11.0)
    return tuple(
        Chart(name, Axis(name), Axis("rows", low=0), (Line("", edges, RNG.integers(0, 40, 11)),), small=True)
        for name in COLUMNS[:4]
    )


MODELS = ("NaiveBayes", "LogisticRegression", "SVC")


def costs() -> CostTable:
    truth = RNG.integers(0, 2, 270)
    models = {}
    for i, name in enumerate(MODELS):
        eta = 2.2 * (truth - 0.5) + RNG.normal(size=270) * (1 + 0.2 * i)
        p = 1 / (1 + np.exp(-eta))
        models[name] = (np.column_stack([1 - p, p]), truth)
    return CostTable(CLASSES, models)


def rows() -> RowTable:
    adds = RNG.normal(size=(12, len(COLUMNS)))
    texts = [[f"{abs(value):.2f}" for value in row] for row in adds]
    p = 1 / (1 + np.exp(-(adds.sum(axis=1) - 0.3)))
    said = [CLASSES[int(q > 0.5)] for q in p]
    one = EvidenceRecord(
        "NaiveBayes", "log odds of present against absent", -0.3, adds, said, (), CLASSES, np.column_stack([1 - p, p])
    )
    other = EvidenceRecord("LogisticRegression", "log odds of present against absent", 0.1, 0.8 * adds, said)
    return RowTable(COLUMNS, texts, (one, other), truth=said[::-1])


def checks() -> tuple[Note, ...]:
    return (
        Note("Every fit has a certificate that holds.", "good", "M001"),
        Note("The columns `age` and `max heart rate` are close to collinear.", "warning", "M104",
             "Drop one of them, or use a penalty."),
        Note("LogisticRegression has separated the classes: a coefficient is infinite.", "bad", "M101",
             "Use `penalty=\"firth\"`."),
        Note("270 rows, 13 columns, nothing is missing."),
    )  # fmt: skip


def page() -> Page:
    data = Grid(
        "Columns",
        (Field("name"), Field("kind"), Field("missing", ".1%"), Field("distinct", "d")),
        tuple((name, "number", 0.01 * i, 10 + i) for i, name in enumerate(COLUMNS * 4)),
    )
    return Page(
        "Which model for heart disease?",
        "heart.csv: 270 rows, 13 columns; the target is “disease” (absent, present).",
        (
            Section("answer", "The answer", (ANSWER, leaderboard())),
            Section("data", "The data", (data, *histograms(), RUDE)),
            Section("curves", "How much data is enough", (learning_curves(), roc(), calibration(), two_bars()),
                    "A generative model reaches its best with fewer rows; a discriminative one ends lower."),
            Section("mistakes", "Mistakes and what they cost", (confusion(), costs())),
            Section("why", "Why", (coefficients(), rows())),
            Section("plane", "Two columns at a time", (regions(), density(), gaps(), nothing())),
            Section("checks", "Checks", checks(), "What was assumed, and whether it holds."),
        ),
        ("`mercer compare heart.csv --target disease --seed 0`", "mercer 0.8, Python 3.11, NumPy 2.0."),
    )  # fmt: skip


if __name__ == "__main__":
    from mercer.report.page import page_html

    Path(sys.argv[1]).write_text(page_html(page()), encoding="utf-8")
