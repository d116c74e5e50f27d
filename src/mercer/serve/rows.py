"""Conversion of JSON rows, checked one by one, to a table that a model reads."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any, NoReturn

import numpy as np

from mercer._suggest import did_you_mean, listed, quoted
from mercer._typing import Array
from mercer.data.coding import is_new_level
from mercer.data.formats import NumberFormat
from mercer.data.frame_like import frame_like
from mercer.serve.errors import RequestError
from mercer.serve.inputs import Input, Inputs

#: surrogates, which are valid text only in pairs
HALF_CHARACTER = re.compile(rb"\\u[dD][89a-fA-F]")
#: the reason if the parser gives no position
UNKNOWN_REASON = "it is not UTF-8, nested too deeply, or has a number with thousands of digits"
#: types with their articles, for messages
ARTICLES = {"number": "a number", "string": "a string", "boolean": "true or false"}


def parse_rows(body: bytes) -> list[Any]:
    """Return the rows of a request, which is a list of objects, or an object with such a list as "rows"."""
    try:
        content = json.loads(body.decode("utf-8-sig"), parse_constant=_raise_for_constant, object_pairs_hook=_object)
        if HALF_CHARACTER.search(body):
            json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise RequestError(
            400, "The body has half of a character, an escape such as \\ud83d without its other half."
        ) from None
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, json.JSONDecodeError) else UNKNOWN_REASON
        raise RequestError(400, f'The body is not JSON: {reason}. Send a list of rows, e.g. [{{"age": 31}}].') from None
    if isinstance(content, dict):
        if set(content) != {"rows"}:
            raise RequestError(422, 'The body is an object without "rows". Send a list of rows, or {"rows": [...]}.')
        content = content["rows"]
    if not isinstance(content, list):
        raise RequestError(
            422, f'The rows are {_describe(content)}, but must be a list of objects, e.g. [{{"age": 31}}].'
        )
    if not content:
        raise RequestError(422, "There are no rows to predict; send at least one.")
    return content


def _raise_for_constant(word: str) -> NoReturn:
    raise RequestError(422, f"The body has {word}, which is not valid in JSON. Send null for a missing value.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name, times in Counter(names).items() if times > 1)
        raise RequestError(422, f"A row has the column {quoted(twice)} twice; give it once.", column=twice)
    return result


def make_table(rows: list[Any], inputs: Inputs) -> Any:
    """Return the rows as a frame with the columns of the fit, or as an array if these had no names."""
    _check_names(rows, inputs)
    columns = [_column(rows, each) for each in inputs if each.required]
    names = [each.name for each in inputs if each.required]
    return frame_like(names, columns, "pyarrow" if inputs.has_names else "numpy")


def new_level_notes(rows: list[Any], inputs: Inputs) -> list[str]:
    """Return a sentence for each column with a level that did not occur in the fit."""
    notes = []
    for each in inputs:
        levels = each.column.levels
        if levels is None or not each.required or each.type == "any":
            continue
        known = set(levels)
        new = next((r for r, row in enumerate(rows) if is_new_level(row[each.name], known)), None)
        if new is not None:
            value = rows[new][each.name]
            notes.append(
                f"Column {each.name!r} is {quoted(value)} in row {new}, which did not occur when the model was fitted. "
                f"{did_you_mean(str(value), map(str, levels))}"
            )
    return notes


def _check_names(rows: list[Any], inputs: Inputs) -> None:
    known, required = set(inputs.names), [each.name for each in inputs if each.required]
    for r, row in enumerate(rows):
        if not isinstance(row, dict):
            raise RequestError(422, f'Row {r} is {_describe(row)}, but must be an object such as {{"age": 31}}.', row=r)
        if unknown := next((name for name in row if name not in known), None):
            guess = did_you_mean(unknown, inputs.names)
            raise RequestError(
                422, f"Row {r} has a column {quoted(unknown)} that the model does not have. {guess}", r, unknown
            )
        if absent := [name for name in required if name not in row]:
            sentence = f"Row {r} lacks {listed(absent)}; give a value, or null if it is missing."
            raise RequestError(422, sentence, row=r, column=absent[0])


def _column(rows: list[Any], each: Input) -> Array:
    values = [_value(row[each.name], r, each) for r, row in enumerate(rows)]
    if each.type == "number":
        if each.column.levels is not None and all(isinstance(value, int) for value in values):
            return np.array(values, dtype=np.int64)
        return np.array([math.nan if value is None else value for value in values], dtype=float)
    if each.type == "boolean" and None not in values:
        return np.array(values, dtype=bool)
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result


def _value(value: Any, r: int, each: Input) -> Any:
    """Return a value of the right type, or raise an error that names its column and row."""
    if value is None:
        return None
    if isinstance(value, str) and isinstance(each.column.format, NumberFormat):
        value = value if (number := each.column.format.read(value)) is None else number
        if isinstance(value, float) and math.isnan(value):
            return None
    match each.type:
        case "number" if isinstance(value, int | float) and not isinstance(value, bool):
            return _finite(value, r, each)
        case "string" if isinstance(value, str):
            return value
        case "boolean" if isinstance(value, bool):
            return value
        case "any" if isinstance(value, str | int | float | bool):
            return value
    wanted = ARTICLES.get(each.type, "a string, a number, true or false")
    raise RequestError(
        422,
        f"Column {each.name!r} is {_describe(value)} in row {r}, but must be {wanted}, or null.",
        row=r,
        column=each.name,
    )


def _finite(value: float, r: int, each: Input) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isinf(number) or (isinstance(value, int) and abs(value) >= 2**63):
        raise RequestError(
            422, f"Column {each.name!r} is too large for a number in row {r}; send null if it is unknown.", r, each.name
        )
    return value


def _describe(value: Any) -> str:
    """Return a value of a request in few words."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case dict():
            return "an object"
        case list():
            return "a list"
        case str():
            return f"the string {quoted(value)}"
    return quoted(value)
