"""Which formulas a file may hold: Python evaluates their terms, so only columns, arithmetic and listed functions do.

The list is the same for saving and loading. formulaic takes formulas to pieces, but evaluates nothing of them here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from mercer._optional import require
from mercer._stored import Unsafe

#: how levels are coded; these are named with or without brackets
CODINGS = frozenset({"Diff", "Helmert", "Poly", "Sum", "Treatment"})
#: functions with a degree or a number of columns, on which the time depends that they take
SPLINES = frozenset({"bs", "cc", "cr", "cs", "poly"})
#: functions of each row by itself, or with a state that the file holds
FUNCTIONS = CODINGS | SPLINES | {"C", "I", "center", "exp", "exp2", "log", "log10", "log2", "scale", "standardize"}
#: what may stand behind a dot
ATTRIBUTES: dict[str, frozenset[str]] = {
    "contr": frozenset({"SAS", "diff", "helmert", "poly", "sum", "treatment"}),
    "np": frozenset(
        {"abs", "arcsin", "arctan", "cbrt", "ceil", "clip", "cos", "exp", "exp2", "expm1", "floor", "hypot", "log"}
        | {"log10", "log1p", "log2", "maximum", "minimum", "rint", "sign", "sin", "sqrt", "square", "tan", "tanh"}
        | {"trunc", "where"}
    ),
}
MOST_COLUMNS = 1000
#: the largest exponent
MOST_POWER = 100
#: characters of a formula
LONGEST = 10_000

#: what to do about a formula that no file may hold
REMEDY = "write it with columns, arithmetic and functions such as log, sqrt as np.sqrt, C, bs, poly and scale"

_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.BitAnd, ast.BitOr, ast.BitXor)
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_SYNTAX = (ast.Expression, ast.Load, ast.keyword, ast.BinOp, ast.UnaryOp, ast.unaryop, ast.Compare, ast.List, ast.Tuple)
_PLAIN = (*_SYNTAX, *_OPERATORS, *_COMPARISONS, ast.Dict)
_LITERAL = re.compile(r"\d+(\.\d*)?|\.\d+")


class Refused(Exception):
    """What of a formula is not in the list."""


def unsafe_formula(features: Any) -> Unsafe | None:
    """Find what the formula of a `TableFeatures` would have Python evaluate that is not in the list."""
    if features.formula is None:
        return None
    try:
        for code in _terms_of(features.formula):
            names_read(code)
    except Refused as refused:
        return Unsafe("formula", f"a formula with {refused}", REMEDY)
    return None


def unsafe_terms(features: Any) -> Unsafe | None:
    """Find what the terms of fitted `FormulaFeatures` would have Python evaluate that is not in the list."""
    try:
        for term in features.terms:
            for code, how in term:
                _check_factor(code, how, features.variables)
    except Refused as refused:
        return Unsafe("formula", f"a formula with {refused}", REMEDY)
    return None


def names_read(code: str) -> set[str]:
    """The columns that a term reads; a term that does anything but compute with them is refused."""
    from formulaic.utils.code import sanitize_variable_names

    aliases: dict[str, str] = {}
    try:
        tree = ast.parse(sanitize_variable_names(_short(code), {}, aliases), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError, IndexError):
        raise Refused("a term that cannot be read") from None
    called: set[ast.AST] = set()
    names = set()
    for node in ast.walk(tree):  # outer ones come before inner ones
        match node:
            case ast.Call(func=function):
                called |= _check_call(node, function)
            case ast.Attribute(value=ast.Name(id="contr") as owner, attr=name) if name in ATTRIBUTES["contr"]:
                called.add(owner)
            case ast.Name(id=name):
                if node not in called and name not in CODINGS:
                    names.add(aliases.get(name, name))
            case ast.Constant(value=value):
                _check_constant(value)
            case ast.BinOp():
                _check_arithmetic(node)
            case _ if node not in called and not isinstance(node, _PLAIN):
                raise Refused(repr(ast.unparse(node)[:40] or type(node).__name__))
    return names


def _terms_of(formula: Any) -> Iterator[str]:
    """The parts of a formula that Python would evaluate."""
    require("formulaic", purpose="A formula", extra="formula")
    from formulaic.parser import DefaultFormulaParser
    from formulaic.parser.types import Token

    try:
        tokens = list(DefaultFormulaParser(include_intercept=False).get_tokens(_short(formula)))
    except Refused:
        raise
    except Exception:  # formulaic's own, and those of Python's parser
        raise Refused("a term that cannot be read") from None
    yield from (token.token for token in tokens if token.kind is Token.Kind.PYTHON)


def _short(text: Any) -> str:
    if not isinstance(text, str) or len(text) > LONGEST:
        raise Refused(f"something else than text of at most {LONGEST:,} characters")
    return text


def _check_factor(code: str, how: str, variables: tuple[str, ...]) -> None:
    """A name that is no column would be looked up among what Python has."""
    match how:
        case "literal" if _LITERAL.fullmatch(code):
            return
        case "lookup":
            names = {code}
        case "python":
            require("formulaic", purpose="A formula", extra="formula")
            names = names_read(code)
        case _:
            raise Refused("a factor of an unknown kind")
    if strange := names.difference(variables):
        raise Refused(f"the name {min(strange)!r}, which is none of its columns")


def _check_call(call: ast.Call, function: ast.expr) -> set[ast.AST]:
    """The parts of a call that name what is called."""
    match function:
        case ast.Name(id=name) if name in FUNCTIONS:
            parts: set[ast.AST] = {function}
        case ast.Attribute(value=ast.Name(id=owner) as before, attr=name) if name in ATTRIBUTES.get(owner, ()):
            parts = {function, before}
        case _:
            raise Refused(f"a call of {ast.unparse(function)[:40]!r}")
    if any(word.arg is None or word.arg.startswith("_") for word in call.keywords):
        raise Refused("an argument that is formulaic's own")
    if name in SPLINES:
        for value in [*call.args[1:], *(word.value for word in call.keywords if word.arg in ("df", "degree"))]:
            _check_degree(value)
    return parts


def _check_degree(value: ast.expr) -> None:
    """The degree of a spline is written out, since a computed one may be of any size; knots are a list."""
    plain = value.operand if isinstance(value, ast.UnaryOp) else value
    if not isinstance(plain, ast.Constant | ast.List | ast.Tuple):
        raise Refused("a degree that is not written as a number")
    if _number(value) > MOST_COLUMNS:
        raise Refused(f"a degree beyond {MOST_COLUMNS:,}")


def _check_constant(value: Any) -> None:
    """formulaic writes calls into code of its own, out of which a quotation mark would lead."""
    if not isinstance(value, int | float | str | None) or (isinstance(value, str) and re.search(r"['\"\\\n]", value)):
        raise Refused(f"the constant {value!r:.40}")


def _check_arithmetic(node: ast.BinOp) -> None:
    sides = (node.left, node.right)
    if any(isinstance(side, ast.List | ast.Tuple | ast.Dict) or _is_string(side) for side in sides):
        raise Refused("arithmetic on a list or a string")
    if isinstance(node.op, ast.Pow) and not (_reads_columns(node.left) and 0 <= _number(node.right) <= MOST_POWER):
        raise Refused(f"a power that is not that of a column, with an exponent from 0 to {MOST_POWER}")


def _reads_columns(node: ast.expr) -> bool:
    """Whether it is made of columns: a power of whole numbers alone may have more digits than there is memory for."""
    inside = list(ast.walk(node))
    functions = {part.func for part in inside if isinstance(part, ast.Call)}
    owners = {part.value for part in inside if isinstance(part, ast.Attribute)}
    return any(isinstance(part, ast.Name) and part not in functions | owners for part in inside)


def _is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _number(node: ast.expr) -> float:
    """The number that is written there; -1 where there is none."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int | float) else -1
