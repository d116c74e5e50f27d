"""Formulas in model files: only columns, arithmetic and listed functions, because Python evaluates their terms.

The rules are the same for saving and loading. Formulas are parsed by formulaic, but not evaluated here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from mercer._optional import require
from mercer._stored import Unsafe

#: contrast codings, which are written with or without parentheses
CODINGS = frozenset({"Diff", "Helmert", "Poly", "Sum", "Treatment"})
#: functions whose time depends on a degree or a number of columns
SPLINES = frozenset({"bs", "cc", "cr", "cs", "poly"})
#: functions of single rows, or with a state that is in the file
FORMULA_FUNCTIONS = (
    CODINGS | SPLINES | {"C", "I", "center", "exp", "exp2", "log", "log10", "log2", "scale", "standardize"}
)
#: attributes by the names before the dot
ATTRIBUTES: dict[str, frozenset[str]] = {
    "contr": frozenset({"SAS", "diff", "helmert", "poly", "sum", "treatment"}),
    "np": frozenset(
        {"abs", "arcsin", "arctan", "cbrt", "ceil", "clip", "cos", "exp", "exp2", "expm1", "floor", "hypot", "log"}
        | {"log10", "log1p", "log2", "maximum", "minimum", "rint", "sign", "sin", "sqrt", "square", "tan", "tanh"}
        | {"trunc", "where"}
    ),
}
#: maximum degree or number of columns of a spline
MAX_DEGREE = 1000
#: maximum exponent
MAX_POWER = 100
#: maximum characters of a formula
MAX_LENGTH = 10_000

#: the remedy for a formula that is not allowed
FORMULA_REMEDY = "write it with columns, arithmetic and functions such as log, sqrt as np.sqrt, C, bs, poly and scale"

_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.BitAnd, ast.BitOr, ast.BitXor)
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_SYNTAX = (ast.Expression, ast.Load, ast.keyword, ast.BinOp, ast.UnaryOp, ast.unaryop, ast.Compare, ast.List, ast.Tuple)
_PLAIN = (*_SYNTAX, *_OPERATORS, *_COMPARISONS, ast.Dict)
_LITERAL = re.compile(r"\d+(\.\d*)?|\.\d+")


class ForbiddenTermError(Exception):
    """An error with the part of a formula that is not allowed."""


def unsafe_formula(features: Any) -> Unsafe | None:
    """Return the formula of a `TableFeatures` with the reason why it is not allowed, or None."""
    if features.formula is None:
        return None
    try:
        for code in _terms_of(features.formula):
            names_read(code)
    except ForbiddenTermError as error:
        return Unsafe("formula", f"a formula with {error}", FORMULA_REMEDY)
    return None


def unsafe_terms(features: Any) -> Unsafe | None:
    """Return the terms of fitted `FormulaFeatures` with the reason why they are not allowed, or None."""
    try:
        for term in features.terms:
            for code, how in term:
                _check_factor(code, how, features.variables)
    except ForbiddenTermError as error:
        return Unsafe("formula", f"a formula with {error}", FORMULA_REMEDY)
    return None


def names_read(code: str) -> set[str]:
    """Return the columns that a term reads, or raise an error if the term does more than compute with them."""
    from formulaic.utils.code import sanitize_variable_names

    aliases: dict[str, str] = {}
    try:
        tree = ast.parse(sanitize_variable_names(_short(code), {}, aliases), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError, IndexError):
        raise ForbiddenTermError("a term that cannot be read") from None
    called: set[ast.AST] = set()
    names = set()
    for node in ast.walk(tree):  # outer nodes come before inner ones
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
                raise ForbiddenTermError(repr(ast.unparse(node)[:40] or type(node).__name__))
    return names


def _terms_of(formula: Any) -> Iterator[str]:
    """Yield the parts of a formula that Python would evaluate."""
    require("formulaic", purpose="A formula", extra="formula")
    from formulaic.parser import DefaultFormulaParser
    from formulaic.parser.types import Token

    try:
        tokens = list(DefaultFormulaParser(include_intercept=False).get_tokens(_short(formula)))
    except ForbiddenTermError:
        raise
    except Exception:  # of formulaic or Python's parser
        raise ForbiddenTermError("a term that cannot be read") from None
    yield from (token.token for token in tokens if token.kind is Token.Kind.PYTHON)


def _short(text: Any) -> str:
    if not isinstance(text, str) or len(text) > MAX_LENGTH:
        raise ForbiddenTermError(f"something other than text of at most {MAX_LENGTH:,} characters")
    return text


def _check_factor(code: str, how: str, variables: tuple[str, ...]) -> None:
    """Raise an error if a factor has a name other than a column, which Python would look up elsewhere."""
    match how:
        case "literal" if _LITERAL.fullmatch(code):
            return
        case "lookup":
            names = {code}
        case "python":
            require("formulaic", purpose="A formula", extra="formula")
            names = names_read(code)
        case _:
            raise ForbiddenTermError("a factor of an unknown kind")
    if strange := names.difference(variables):
        raise ForbiddenTermError(f"the name {min(strange)!r}, which is not one of its columns")


def _check_call(call: ast.Call, function: ast.expr) -> set[ast.AST]:
    """Return the nodes that name the called function, or raise an error if the call is not allowed."""
    match function:
        case ast.Name(id=name) if name in FORMULA_FUNCTIONS:
            parts: set[ast.AST] = {function}
        case ast.Attribute(value=ast.Name(id=owner) as before, attr=name) if name in ATTRIBUTES.get(owner, ()):
            parts = {function, before}
        case _:
            raise ForbiddenTermError(f"a call of {ast.unparse(function)[:40]!r}")
    if any(word.arg is None or word.arg.startswith("_") for word in call.keywords):
        raise ForbiddenTermError("an argument that is internal to formulaic")
    if name in SPLINES:
        for value in [*call.args[1:], *(word.value for word in call.keywords if word.arg in ("df", "degree"))]:
            _check_degree(value)
    return parts


def _check_degree(value: ast.expr) -> None:
    """Check that the degree of a spline is a literal, because a computed one may be of any size; knots are a list."""
    plain = value.operand if isinstance(value, ast.UnaryOp) else value
    if not isinstance(plain, ast.Constant | ast.List | ast.Tuple):
        raise ForbiddenTermError("a degree that is not written as a number")
    if _number(value) > MAX_DEGREE:
        raise ForbiddenTermError(f"a degree beyond {MAX_DEGREE:,}")


def _check_constant(value: Any) -> None:
    """Check a constant: formulaic generates code from calls, which a string with a quotation mark could leave."""
    if not isinstance(value, int | float | str | None) or (isinstance(value, str) and re.search(r"['\"\\\n]", value)):
        raise ForbiddenTermError(f"the constant {value!r:.40}")


def _check_arithmetic(node: ast.BinOp) -> None:
    sides = (node.left, node.right)
    if any(isinstance(side, ast.List | ast.Tuple | ast.Dict) or _is_string(side) for side in sides):
        raise ForbiddenTermError("arithmetic on a list or a string")
    if isinstance(node.op, ast.Pow) and not (_reads_columns(node.left) and 0 <= _number(node.right) <= MAX_POWER):
        raise ForbiddenTermError(f"a power that is not one of a column, with an exponent from 0 to {MAX_POWER}")


def _reads_columns(node: ast.expr) -> bool:
    """Return whether an expression has columns, because a power of integers may have more digits than memory."""
    inside = list(ast.walk(node))
    functions = {part.func for part in inside if isinstance(part, ast.Call)}
    owners = {part.value for part in inside if isinstance(part, ast.Attribute)}
    return any(isinstance(part, ast.Name) and part not in functions | owners for part in inside)


def _is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _number(node: ast.expr) -> float:
    """Return the number of a literal; -1 for other expressions."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int | float) else -1
