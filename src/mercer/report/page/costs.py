"""Costs of decisions: computed here for the initial costs, and by the script of the page for all others."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.report.grid import Cell, Field, Grid
from mercer.report.markup import Markup, join_markup, json_script, tag
from mercer.report.page.limits import PageLimits
from mercer.report.page.tables import CELL_PADDING_PIXELS, PHONE_WIDTH, TABLE_LETTER_WIDTH, scroll_box, table_html
from mercer.report.records import CostTable
from mercer.report.thinning import even_indices

#: probabilities are stored in the page as multiples of 1/65535, two bytes each
PROBABILITY_UNITS = 65535
#: width of an input on a phone, in pixels
_INPUT_WIDTH = 60


class CostAssessment(NamedTuple):
    """The cost of decisions by least expected cost, on rows with a known truth."""

    cost: float
    error: float  # standard error of the cost
    expected: float  # by the probabilities of the model
    likeliest: float  # the cost of deciding for the most probable class
    confusion: Array  # truth × decision


def assess_costs(probabilities: Array, truth: Array, costs: Array) -> CostAssessment:
    """Compute the cost of decisions, with sums in the order of the page's script so that ties are equal."""
    expected = np.zeros((len(truth), costs.shape[1]))
    for k in range(costs.shape[0]):
        expected += probabilities[:, [k]] * costs[k]
    decided = expected.argmin(axis=1)
    paid = costs[truth, decided]
    n = max(len(truth), 1)
    confusion = np.zeros(costs.shape, dtype=int)
    np.add.at(confusion, (truth, decided), 1)
    spread = math.sqrt(((paid - paid.sum() / n) ** 2).sum() / (n - 1) / n) if n > 1 else 0.0
    plain = costs[truth, probabilities.argmax(axis=1)]
    return CostAssessment(paid.sum() / n, spread, expected.min(axis=1).sum() / n, plain.sum() / n, confusion)


def quantize_probabilities(costs: CostTable, limits: PageLimits) -> dict[str, tuple[Array, Array]]:
    """Return (quantized probabilities, truth) for each model, without missing rows and thinned to the page's limit."""
    most = min(2000, limits.costs // max(len(costs.models) * len(costs.classes), 1))
    return {name: _quantize(*model, max(most, 20)) for name, model in costs.models.items()}


def _quantize(given: Any, codes: Any, most: int) -> tuple[Array, Array]:
    probabilities, truth = np.asarray(given, dtype=float), np.asarray(codes, dtype=int)
    known = np.flatnonzero(np.isfinite(probabilities).all(axis=1)) if len(truth) else np.zeros(0, dtype=int)
    kept = known[even_indices(len(known), most)]
    return (probabilities[kept].clip(0, 1) * PROBABILITY_UNITS).round().astype("<u2"), truth[kept]


def describe_threshold(classes: Any, costs: Array) -> str:
    """Return a sentence that says when to decide for the second of two classes."""
    if len(classes) != 2:
        return "Each row gets the decision whose expected cost is least."
    wrong, missed = costs[0, 1] - costs[0, 0], costs[1, 0] - costs[1, 1]
    name = f"“{classes[1]}”"
    if wrong + missed <= 0:
        return "With these costs mistakes are cheaper than right decisions."
    threshold = wrong / (wrong + missed)
    if threshold <= 0:
        return f"With these costs {name} is always the cheaper decision."
    if threshold >= 1:
        return f"With these costs {name} is never the cheaper decision."
    return f"Decide {name} when its probability is above {threshold:.3f}."


def costs_html(costs: CostTable, limits: PageLimits) -> Markup:
    models = {name: model for name, model in quantize_probabilities(costs, limits).items() if len(model[1])}
    if not models or not costs.classes:
        return tag("p", "There are no held-out probabilities to decide by.", class_="nothing")
    size = len(costs.classes)
    matrix = 1.0 - np.eye(size) if costs.costs is None else np.asarray(costs.costs)
    judgements = {
        name: assess_costs(parts / PROBABILITY_UNITS, truth, matrix) for name, (parts, truth) in models.items()
    }
    return tag(
        "div",
        _matrix(costs, matrix),
        tag("p", describe_threshold(costs.classes, matrix), class_="threshold", aria_live="polite"),
        tag("div", table_html(_table(judgements, models, matrix, costs.classes), limits), class_="outcome"),
        _confusion(costs, judgements),
        json_script(_script_values(costs, models, matrix), class_="values"),
        class_="costs",
    )


def _table(judgements: dict[str, CostAssessment], models: Any, matrix: Array, classes: Any) -> Grid:
    rows: list[tuple[Cell, ...]] = [(name, j.cost, j.error, j.expected, j.likeliest) for name, j in judgements.items()]
    truth = next(iter(models.values()))[1]
    always = matrix[truth].sum(axis=0) / len(truth)
    best = int(always.argmin())
    rows.append((f"no model: always “{classes[best]}”", float(always[best]), None, None, None))
    fields = (
        Field("model"),
        Field("cost per row", ".4f"),
        Field("standard error", ".4f"),
        Field("model expects", ".4f"),
        Field("if likeliest class", ".4f"),
    )
    counts = sorted({len(truth) for _, truth in models.values()})
    among = " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))
    note = f"On {among} held-out rows. The last column ignores costs when it decides."
    return Grid("Expected cost of each model", fields, tuple(rows), (note,))


def _matrix(costs: CostTable, matrix: Array) -> Markup:
    """Return a table of inputs, which the script enables; without the script they show the initial costs."""
    head = tag("tr", tag("td", "truth \\ decision"), *(tag("th", name, scope="col") for name in costs.classes))
    listed = _is_listed(costs.classes)
    rows = (
        tag(
            "tr",
            tag("th", name, scope="row"),
            *(
                tag("td", _input(costs, k, d, matrix[k, d]), data_label=decision if listed else None)
                for d, decision in enumerate(costs.classes)
            ),
        )
        for k, name in enumerate(costs.classes)
    )
    table = tag(
        "table",
        tag("caption", tag("span", "What a decision costs")),
        tag("thead", head),
        tag("tbody", *rows),
        class_="matrix listed" if listed else "matrix",
    )
    reset = tag("button", "Reset", type="button", class_="reset", hidden=True)
    return join_markup((scroll_box(table, "Cost matrix"), reset))


def _is_listed(classes: Sequence[str]) -> bool:
    """Return whether the table is wider than a phone, so that it becomes a list for each class."""
    longest = max(map(len, classes))
    return (
        longest * TABLE_LETTER_WIDTH
        + sum(max(len(name) * TABLE_LETTER_WIDTH, _INPUT_WIDTH) + CELL_PADDING_PIXELS for name in classes)
        > PHONE_WIDTH
    )


def _input(costs: CostTable, k: int, d: int, value: float) -> Markup:
    label = f"Cost of deciding {costs.classes[d]} when the truth is {costs.classes[k]}"
    return tag(
        "input",
        type="number",
        step="any",
        value=f"{value:g}",
        aria_label=label,
        data_cost=f"{k} {d}",
        disabled=True,
        inputmode="decimal",
    )


def _confusion(costs: CostTable, judgements: dict[str, CostAssessment]) -> Markup:
    """Return the confusion matrix of the first model; with the script, any model can be chosen."""
    name, first = next(iter(judgements.items()))
    options = (tag("option", name, value=str(i)) for i, name in enumerate(judgements))
    choice = tag("label", "Decisions of ", tag("select", *options), class_="choice", hidden=True)
    fields = (Field("truth \\ decision"), *(Field(c, "d") for c in costs.classes))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (c, *map(int, row)) for c, row in zip(costs.classes, first.confusion, strict=True)
    )
    table = table_html(Grid(f"Decisions of {name}", fields, rows), PageLimits())
    return tag("div", choice, table, class_="confusion")


def _script_values(costs: CostTable, models: dict[str, tuple[Array, Array]], matrix: Array) -> dict[str, Any]:
    truths: list[list[int]] = []
    packed_models = []
    for name, (parts, truth) in models.items():
        codes = truth.tolist()
        if codes not in truths:
            truths.append(codes)
        packed = base64.b64encode(parts.tobytes()).decode()
        packed_models.append({"name": name, "truth": truths.index(codes), "parts": packed})
    return {"classes": list(costs.classes), "costs": matrix.tolist(), "truths": truths, "models": packed_models}
