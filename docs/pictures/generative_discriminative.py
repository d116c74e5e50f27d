"""Measure and draw the results of docs/generative-vs-discriminative.md.

`python docs/pictures/generative_discriminative.py --data FOLDER` prints all its tables (Markdown) and draws all its
pictures beside itself, the same in every run: each study deals its rows from seed 0. The folder holds heart.csv,
adult-train.csv, horse-colic.csv, ionosphere.csv, pima-indians-diabetes.csv and sms_spam.tsv; the other sets come with
scikit-learn. `--only NAME …` is for trying it out: it prints the tables of these sets, and draws nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn import datasets
from sklearn.pipeline import make_pipeline

from mercer import (
    CountVectorizer,
    GaussianNB,
    LinearDiscriminantAnalysis,
    LinearThreshold,
    MultinomialNB,
    NaiveBayes,
    Schema,
    TableFeatures,
    counterpart,
    learning_curves,
    stress,
)
from mercer.comparison.learning_curves import LearningCurves, Measure
from mercer.comparison.stress import Stress
from mercer.data import Kind
from mercer.data.select import as_labels

HERE = Path(__file__).parent
#: a prior wide enough to have almost no effect
WEAK = 1e4
#: distance from the error with all rows within which a model has converged
CLOSE = 0.02
#: differences of this size are rounding
EQUAL = 1e-9
#: kinds and amounts of damage in the table of `stress`
SHOWN = (("missing", 0.0), ("missing", 0.5), ("noise", 0.5), ("noise", 1.0))
#: data sets and the rows that are damaged; the EM algorithm of normal classes is slow with many columns
STRESSED = {"breast cancer": ("test",), "pima": ("train",)}
ADULT = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital", "occupation", "relationship", "race", "sex",
    "gain", "loss", "hours", "country", "income",
]  # fmt: skip


class Set(NamedTuple):
    """A data set, and the naive Bayes model that suits its columns."""

    name: str
    X: Any
    y: Any
    model: Any
    test_size: float = 1 / 3
    repeats: int = 10


def sets(data: Path) -> list[Set]:
    bundled = {
        "breast cancer": (datasets.load_breast_cancer, GaussianNB(shared_variance=True)),
        "iris": (datasets.load_iris, GaussianNB(shared_variance=True)),
        "wine": (datasets.load_wine, GaussianNB(shared_variance=True)),
        "digits": (datasets.load_digits, MultinomialNB()),
    }
    return [
        heart(data),
        adult(data),
        horses(data),
        numbers(data / "ionosphere.csv", "ionosphere"),
        numbers(data / "pima-indians-diabetes.csv", "pima"),
        spam(data),
        *(Set(name, *load(return_X_y=True), model) for name, (load, model) in bundled.items()),
    ]


def heart(data: Path) -> Set:
    import pandas as pd

    frame = pd.read_csv(data / "heart.csv").drop(columns="key")
    return Set("heart", with_labels(frame.drop(columns="AHD")), frame["AHD"], NaiveBayes())


def adult(data: Path) -> Set:
    import pandas as pd

    frame = pd.read_csv(data / "adult-train.csv", header=None, names=ADULT, na_values="?", skipinitialspace=True)
    frame = frame.sample(10_000, random_state=0)
    return Set("adult", frame.drop(columns="income"), frame["income"], NaiveBayes(), 2000)


def horses(data: Path) -> Set:
    """Return horse colic: whether the lesion was surgical, without hospital numbers and codes of the lesion."""
    import pandas as pd

    frame = pd.read_csv(data / "horse-colic.csv", header=None, na_values="?").rename(columns="c{}".format)
    X = frame.drop(columns=["c2", "c23", "c24", "c25", "c26"])
    return Set("horse colic", with_labels(X), frame["c23"], NaiveBayes())


def numbers(path: Path, name: str) -> Set:
    import pandas as pd

    frame = pd.read_csv(path, header=None)
    return Set(name, frame.iloc[:, :-1].to_numpy(dtype=float), frame.iloc[:, -1], GaussianNB(shared_variance=True))


def spam(data: Path) -> Set:
    import pandas as pd

    frame = pd.read_csv(data / "sms_spam.tsv", sep="\t", quoting=3)
    words = make_pipeline(CountVectorizer(), MultinomialNB())
    return Set("SMS spam", frame["SMS"].tolist(), frame["Label"], words, repeats=5)


def with_labels(frame: Any) -> Any:
    """Convert codes and columns of two values to strings, so that naive Bayes treats them as categories."""
    named = [column.name for column in Schema.infer(frame) if column.kind in (Kind.CODE, Kind.BINARY)]
    return as_labels(frame, named)


def naive(each: Set) -> LearningCurves:
    """Use a logistic regression that is nearly of maximum likelihood, but has finite coefficients."""
    other = counterpart(each.model)
    last = other.steps[-1][1] if hasattr(other, "steps") else other
    last.set_params(C=WEAK)
    return curves(each, [each.model, other])


def penalised(each: Set) -> LearningCurves:
    """Use the logistic regression that `counterpart` returns, with C = 1."""
    return curves(each, each.model)


def linear(each: Set) -> LearningCurves:
    plain = isinstance(each.X, np.ndarray)
    lda = LinearDiscriminantAnalysis()
    model = lda if plain else make_pipeline(TableFeatures(unseen="ignore", output="array"), lda)
    return curves(each, model)


def curves(each: Set, pair: Any) -> LearningCurves:
    return learning_curves(
        pair, each.X, each.y, repeats=each.repeats, test_size=each.test_size, progress=print_progress(each.name)
    )


def print_progress(name: str) -> Callable[[int, int, str], None]:
    def tell(done: int, total: int, model: str) -> None:
        if done % 20 == 0 or done == total:
            sys.stderr.write(f"\r{name}: {done} of {total}   " + "\n" * (done == total))

    return tell


def table(studies: dict[str, tuple[Set, LearningCurves]]) -> str:
    """Return a table with a row for each data set, in Markdown."""
    head = (
        "| set | rows | smallest | generative | discriminative | largest | generative | discriminative "
        f"| difference (95%) | generative within {CLOSE} of its end | discriminative | crossover |"
    )
    lines = [head, "| --- " + "| ---: " * 10 + "| --- |"]
    for name, (each, found_curves) in studies.items():
        means = found_curves.errors.mean(axis=2)
        found, sizes = found_curves.difference(), found_curves.settled(CLOSE)
        lines.append(
            f"| {name} | {len(each.y)} | {found_curves.sizes[0]} | {means[0, 0]:.3f} | {means[1, 0]:.3f} "
            f"| {found_curves.sizes[-1]} | {means[0, -1]:.3f} | {means[1, -1]:.3f} "
            f"| {found.mean:+.3f} ({found.low:+.3f} to {found.high:+.3f}) | {sizes[0]} | {sizes[1]} "
            f"| {found_curves.crossover_} |"
        )
    return "\n".join(lines)


def verdict(studies: dict[str, tuple[Set, LearningCurves]]) -> str:
    """Return the number of data sets on which each claim holds."""
    found = [each for _, each in studies.values()]
    ends = [each.difference() for each in found]
    starts = [each.errors.mean(axis=2)[:, 0] for each in found]
    won, lost = sum(end.mean > EQUAL for end in ends), sum(end.mean < -EQUAL for end in ends)
    surely, surely_not = sum(end.low > 0 for end in ends), sum(end.high < 0 for end in ends)
    lines = [
        f"sets: {len(found)}",
        f"generative better at the smallest size: {sum(a < b for a, b in starts)}",
        *(_settled(found, within) for within in (0.01, CLOSE, 0.03)),
        f"discriminative better at the largest size: {won}, beyond chance: {surely}",
        f"generative better at the largest size: {lost}, beyond chance: {surely_not}",
        f"log loss, where discriminative gets ahead: {_overtaken(studies, 'log_loss')}",
    ]
    return "\n".join([*lines, *(note for each in found for note in each.notes)])


def _overtaken(studies: dict[str, tuple[Set, LearningCurves]], measure: Measure) -> str:
    return "; ".join(f"{name} {each.crossover(measure)}" for name, (_, each) in studies.items())


def _settled(found: list[LearningCurves], within: float) -> str:
    sizes = [each.settled(within) for each in found]
    fewer, same, more = (sum(np.sign(a - b) == sign for a, b in sizes) for sign in (-1, 0, 1))
    return f"within {within} of its end, generative with fewer rows: {fewer}, as many: {same}, more: {more}"


def panels(studies: dict[str, tuple[Set, LearningCurves]], more: dict[str, tuple[Set, LearningCurves]]) -> Any:
    """Draw the curves of every data set; of `more`, those of the discriminative model."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 5), layout="constrained")
    axes = np.ravel(figure.subplots(2, -(-len(studies) // 2)))
    for ax, (name, (_, each)) in zip(axes, studies.items(), strict=False):
        each.plot(ax=ax)
        if name in more:
            ax.plot(each.sizes, more[name][1].errors[1].mean(axis=1), "C2--", linewidth=1.2)
        ticks = (10, 30, 100, 300) if each.sizes[-1] < 600 else (10, 100, 1000)
        ax.set(title=name, xlabel="", ylabel="", xticks=[tick for tick in ticks if tick <= each.sizes[-1]])
        ax.get_legend().remove()
    for ax in axes[len(studies) :]:
        ax.set_visible(False)
    figure.supxlabel("rows to learn from")
    figure.supylabel("error on held-out rows")
    handles = [line for line in axes[0].get_lines() if len(line.get_xdata()) > 2]
    words = ("generative", "discriminative", "discriminative, penalised")[: len(handles)]
    figure.legend(handles, words, loc="outside upper center", ncols=3, frameon=False)
    return figure


def stressed(each: Set, where: str) -> Stress:
    """Measure all three kinds of models of lecture 2, with values removed and with noise."""
    models = {
        "naive Bayes": GaussianNB(),
        "LDA": LinearDiscriminantAnalysis(),
        "logistic": counterpart(LinearDiscriminantAnalysis()),
        "LMS": LinearThreshold("lms"),
    }
    return stress(models, each.X, each.y, where=where, repeats=10)


def stress_table(results: dict[str, Stress]) -> str:
    """Return the accuracy and log loss of each model under some damages, in Markdown."""
    lines = []
    for name, result in results.items():
        lines = lines or ["| | " + " | ".join(result.names) + " |", "| --- " + "| ---: " * len(result.names) + "|"]
        means = {row[:3]: row[3:5] for row in result.grid().rows}
        for damage, amount in SHOWN:
            cells = (_with_loss(*means[model, damage, amount]) for model in result.names)
            lines.append(f"| {name}: {damage} {amount:g} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _with_loss(accuracy: float, loss: float) -> str:
    return f"{accuracy:.3f}" if np.isnan(loss) else f"{accuracy:.3f} ({loss:.3f})"


def stress_picture(results: dict[str, Stress]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 5.2), layout="constrained")
    axes = figure.subplots(len(results), 2, sharey="row")
    for row, (name, result) in zip(axes, results.items(), strict=True):
        for ax, damage in zip(row, ("missing", "noise"), strict=True):
            result.plot(damage, ax=ax)
            ax.set_title(name)
            ax.get_legend().remove()
    axes[0, 0].legend(frameon=False)
    return figure


def main() -> None:
    import matplotlib as mpl

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    every = [each for each in sets(options.data) if not options.only or each.name in options.only]
    pairs = _told("without a penalty", {each.name: (each, naive(each)) for each in every})
    with_prior = _told("C = 1", {each.name: (each, penalised(each)) for each in every})
    # with variances of each class, the logistic regression is on x and x²
    normal = [each._replace(model=GaussianNB()) for each in every if isinstance(each.model, GaussianNB)]
    _told("without a penalty, own variances", pairs | {each.name: (each, naive(each)) for each in normal})
    _told("C = 1, own variances", with_prior | {each.name: (each, penalised(each)) for each in normal})
    lines = _told("LDA", {each.name: (each, linear(each)) for each in every if not isinstance(each.X, list)})
    under = {
        f"{each.name}, rows to {'predict' if where == 'test' else 'learn from'}": stressed(each, where)
        for each in every
        for where in STRESSED.get(each.name, ())
    }
    sys.stdout.write(f"{stress_table(under)}\n")
    if options.only:
        return
    with mpl.rc_context({"svg.hashsalt": "mercer", "font.size": 8}):
        _save(panels(pairs, with_prior), "naive_bayes_and_logistic")
        _save(panels(lines, {}), "lda_and_logistic")
        _save(stress_picture(under), "stress")


def _told(title: str, studies: dict[str, tuple[Set, LearningCurves]]) -> dict[str, tuple[Set, LearningCurves]]:
    """Print immediately, since the next results take minutes."""
    sys.stdout.write(f"{title}\n\n{table(studies)}\n\n{verdict(studies)}\n\n")
    sys.stdout.flush()
    return studies


def _save(figure: Any, name: str) -> None:
    figure.savefig(HERE / f"{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
