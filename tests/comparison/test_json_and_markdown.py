"""A comparison as strict JSON and as Markdown."""

from __future__ import annotations

import json

from mercer.comparison import Comparison


def test_a_comparison_is_written_as_strict_json(five: Comparison) -> None:
    found = json.loads(json.dumps(five.json(), allow_nan=False))
    assert [model["name"] for model in found["models"]] == five.names
    by_name = {model["name"]: model for model in found["models"]}
    assert by_name["bayes"]["measures"]["accuracy"]["mean"] == five.entry("bayes").mean("accuracy")
    assert by_name["ridge"]["measures"]["log_loss"]["mean"] is None
    assert by_name["sure"]["measures"]["log_loss"]["mean"] > 20
    assert by_name["broken"]["failed"]
    assert found["labels"] == ["setosa", "versicolor", "virginica"]
    assert found["settings"]["seed"] == 0


def test_a_comparison_is_written_as_markdown(five: Comparison) -> None:
    text = five.markdown()
    assert text.startswith("# 150 rows × 4 columns, 3 classes; 3 stratified folds\n")
    assert "| bayes |" in text
    assert "not \\| today" in text
    assert "## Differences from the best score, that of bayes" in text
