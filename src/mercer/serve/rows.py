"""JSON rows, checked one by one, as a table that a model reads."""

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
from mercer.serve.described import Input, Inputs
from mercer.serve.page import RequestRefusal

#: halves of characters, which are no text unless they come in pairs
HALF = re.compile(rb"\\u[dD][89a-fA-F]")
#: what is wrong where the parser does not say where
WORSE = "it is no UTF-8, nested too deep, or has a number of thousands of digits"
ARTICLES = {"number": "a number", "string": "a string", "boolean": "true or false"}


def parsed(body: bytes) -> list[Any]:
    """The rows of a request: a list of objects, or an object with such a list as "rows"."""
    try:
        content = json.loads(body.decode("utf-8-sig"), parse_constant=_refuse_constant, object_pairs_hook=_object)
        if HALF.search(body):
            json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise RequestRefusal(
            400, "The body holds half of a character, an escape such as \\ud83d without its other."
        ) from None
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, json.JSONDecodeError) else WORSE
        raise RequestRefusal(
            400, f'The body is no JSON: {reason}. Send a list of rows, e.g. [{{"age": 31}}].'
        ) from None
    if isinstance(content, dict):
        if set(content) != {"rows"}:
            raise RequestRefusal(422, 'The body is an object without "rows". Send a list of rows, or {"rows": [...]}.')
        content = content["rows"]
    if not isinstance(content, list):
        raise RequestRefusal(
            422, f'The rows are {_said(content)}, but have to be a list of objects, e.g. [{{"age": 31}}].'
        )
    if not content:
        raise RequestRefusal(422, "There are no rows to predict; send at least one.")
    return content


def _refuse_constant(word: str) -> NoReturn:
    raise RequestRefusal(422, f"The body holds {word}, which JSON does not have. Send null where a value is missing.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name, times in Counter(names).items() if times > 1)
        raise RequestRefusal(422, f"A row has the column {quoted(twice)} twice; give it once.", column=twice)
    return result


def table(rows: list[Any], inputs: Inputs) -> Any:
    """The rows as a frame with the columns of the fit, or as an array where these had no names."""
    _check_names(rows, inputs)
    columns = [_column(rows, each) for each in inputs if each.required]
    names = [each.name for each in inputs if each.required]
    return frame_like(names, columns, "pyarrow" if inputs.named else "numpy")


def unseen(rows: list[Any], inputs: Inputs) -> list[str]:
    """A sentence for each column with a level that the fit did not see."""
    told = []
    for each in inputs:
        levels = each.column.levels
        if levels is None or not each.required or each.type == "any":
            continue
        known = set(levels)
        strange = next((r for r, row in enumerate(rows) if is_new_level(row[each.name], known)), None)
        if strange is not None:
            value = quoted(rows[strange][each.name])
            told.append(
                f"Column {each.name!r} is {value} in row {strange}, which was never seen when the model was fitted. "
                f"{did_you_mean(str(rows[strange][each.name]), map(str, levels))}"
            )
    return told


def _check_names(rows: list[Any], inputs: Inputs) -> None:
    known, required = set(inputs.names), [each.name for each in inputs if each.required]
    for r, row in enumerate(rows):
        if not isinstance(row, dict):
            raise RequestRefusal(422, f'Row {r} is {_said(row)}, but has to be an object such as {{"age": 31}}.', row=r)
        if strange := next((name for name in row if name not in known), None):
            guess = did_you_mean(strange, inputs.names)
            raise RequestRefusal(
                422, f"Row {r} has a column {quoted(strange)} that the model does not know. {guess}", r, strange
            )
        if absent := [name for name in required if name not in row]:
            what = f"Row {r} lacks {listed(absent)}; give a value, or null where it is missing."
            raise RequestRefusal(422, what, row=r, column=absent[0])


def _column(rows: list[Any], each: Input) -> Array:
    values = [_value(row[each.name], r, each) for r, row in enumerate(rows)]
    if each.type == "number":
        whole = all(isinstance(value, int) for value in values)
        if whole and each.column.levels is not None:
            return np.array(values, dtype=np.int64)
        return np.array([math.nan if value is None else value for value in values], dtype=float)
    if each.type == "boolean" and None not in values:
        return np.array(values, dtype=bool)
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result


def _value(value: Any, r: int, each: Input) -> Any:
    """A value of the right type, or a refusal that names its column and row."""
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
    raise RequestRefusal(
        422,
        f"Column {each.name!r} is {_said(value)} in row {r}, but has to be {wanted}, or null.",
        row=r,
        column=each.name,
    )


def _finite(value: float, r: int, each: Input) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isinf(number) or (isinstance(value, int) and abs(value) >= 2**63):
        raise RequestRefusal(
            422, f"Column {each.name!r} is too large for a number in row {r}; send null if it is unknown.", r, each.name
        )
    return value


def _said(value: Any) -> str:
    """A value as it came, in few words."""
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
