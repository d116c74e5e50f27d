"""A model as an ONNX graph."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer import __version__
from mercer._errors import ExportError
from mercer._optional import require
from mercer._typing import Array
from mercer.export.expression import (
    ONE_VALUE,
    ZERO_VALUE,
    Above,
    Arctangent,
    ColumnValue,
    Condition,
    Conditional,
    Exp,
    Expression,
    Floor,
    Greatest,
    KernelPoints,
    Lacks,
    Logarithm,
    Lookup,
    Named,
    Nearest,
    NumberValue,
    PointSum,
    ProductOf,
    Quotient,
    Sine,
    SumOf,
    TermSum,
    TextTerms,
    walk,
)
from mercer.export.formula import Formula
from mercer.export.lower import lower
from mercer.export.order import named_values
from mercer.text.analysis import shortest_word

#: version of the operators, the first that can split strings, which also removes spaces around them
OPSET = 20
#: domain of onnxruntime's operator that splits text into words
MICROSOFT_DOMAIN = "com.microsoft"
#: locale for the lower case of letters beyond ASCII, which needs no installed language
LOCALE = "C.UTF-8"
#: padding after the last word of a text
NO_WORD = "\x01"
#: version of the file format, the oldest that the operators allow
IR_VERSION = 9
#: relative precision of single precision
FLOAT32_PRECISION = 2.0**-23
#: terms from which a sum is computed as a product of matrices
MIN_MATRIX_TERMS = 3
#: padding after the last word of a string
NO_CHARACTER = "\x1f"


def to_onnx(model: Any, *, missing: bool | None = None) -> bytes:
    """Return a fitted model as an ONNX graph in double precision, for onnxruntime and others.

    A model of named columns has an input of shape (rows, 1) for each: doubles for numbers and booleans, NaN where they
    are missing; strings for text, blank where it is missing; for dates the days since 1970, with fractions, as doubles.
    A model that was fitted to an array has one input `X` of shape (rows, columns). Outputs are `label` and
    `probabilities` (or `scores`) of shape (rows, classes), or `prediction`; if a column has the same name, with a
    trailing underscore. A row for which the model raises an error has the probabilities NaN and a meaningless label.
    Infinite numbers, for which models raise errors, are accepted.

    Parameters
    ----------
    model : estimator
        A fitted linear model, naive Bayes, Gaussian discriminant or kernel machine of mercer, alone or in a `Pipeline`
        behind `TableFeatures`, `MonomialFeatures`, a vectorizer, or scikit-learn's `StandardScaler`.
    missing : bool or None, default=None
        Treatment of rows with missing numbers. By default (None) the graph treats them as the model does, except with
        a full covariance of more than 12 columns that was fitted to complete rows: a row with a missing value then has
        the probabilities NaN, as `doc_string` states. True raises an `ExportError` in this case. False means that no
        number is missing: columns whose coefficients are all 0 are not read.

    Returns
    -------
    graph : bytes
        The content of an .onnx file.

    Examples
    --------
    >>> from mercer import LinearRegression
    >>> from mercer.export import to_onnx
    >>> graph = to_onnx(LinearRegression().fit([[0.0], [2.0]], [1.0, 5.0]))
    >>> import onnxruntime
    >>> onnxruntime.InferenceSession(graph).run(None, {"X": [[3.0]]})
    [array([[7.]])]
    """
    onnx = require("onnx", purpose="Exporting to ONNX", extra="onnx")
    formula = lower(model, missing=missing)
    check_formula(formula)
    graph = _ONNXGraph(formula, onnx).graph()
    has_text = any(isinstance(value, TermSum) for value in walk(formula.output.outputs))
    model_proto = onnx.helper.make_model(
        graph,
        opset_imports=[
            onnx.helper.make_opsetid("", OPSET),
            *([onnx.helper.make_opsetid(MICROSOFT_DOMAIN, 1)] if has_text else []),
        ],
        ir_version=IR_VERSION,
        producer_name="mercer",
        producer_version=__version__,
        doc_string=formula.remark and f"{formula.remark} Their probabilities are NaN, and their label is meaningless.",
    )
    onnx.checker.check_model(model_proto, full_check=True)
    return model_proto.SerializeToString()  # type: ignore[no-any-return]


def check_formula(formula: Formula) -> None:
    """Raise an `ExportError` for a formula that ONNX cannot express."""
    if formula.width is None and not all(column.name for column in formula.columns):
        raise ExportError("A column without a name cannot be an input of ONNX. Name it and fit again.")
    for value in walk(formula.output.outputs):
        if isinstance(value, TermSum):
            _check_terms(value.of)
        if not isinstance(value, Lookup) or not isinstance(value.of, ColumnValue) or value.of.kind != "text":
            continue
        labels = [" ".join(_words(label)) for label, _ in value.table]
        if len(set(labels)) < len(labels):
            raise ExportError(
                f"Column {value.of.name!r} cannot be exported: two of its values differ only in the number of spaces "
                "between words, which ONNX cannot distinguish. Replace one of them and fit again."
            )


def _check_terms(terms: TextTerms) -> None:
    runs_of_others = terms.grams != (1, 1) and terms.stop_words
    if shortest_word(terms.pattern) is None or runs_of_others:
        raise ExportError(
            f"Column {terms.column.name!r} cannot be exported to ONNX: its terms are not words of letters and digits, "
            "or runs of them without stop words. Export to Python, or fit with the token_pattern that vectorizers have "
            "by default."
        )


def _words(label: Any) -> list[str]:
    return [word for word in str(label).split(" ") if word]


def _space_out(label: Any, width: int) -> str:
    """Return the words of a label with one space between them, padded to a number of words."""
    return " ".join([*_words(label), *[NO_CHARACTER] * width][:width])


class _ONNXGraph:
    """A graph with nodes in the order of computation; every value has the shape (rows, 1)."""

    def __init__(self, formula: Formula, onnx: Any) -> None:
        self.formula, self.onnx = formula, onnx
        self.nodes: list[Any] = []
        self.initializers: dict[tuple[Any, ...], str] = {}
        self.tensors: list[Any] = []
        self.memo: dict[Any, str] = {}
        #: levels of the columns of text
        self.levels: dict[ColumnValue, set[str]] = {
            column: set() for column in formula.columns if column.kind == "text"
        }
        for value in walk(formula.output.outputs):
            if isinstance(value, Lookup) and isinstance(value.of, ColumnValue) and value.of.kind == "text":
                self.levels[value.of] |= {str(label) for label, _ in value.table}
        self.taken = {"X", *(column.name for column in formula.columns)}

    def graph(self) -> Any:
        output, helper = self.formula.output, self.onnx.helper
        inputs = self._inputs()
        for value in named_values(output.outputs):
            self.memo[value] = self.write(value.value)
        outputs = self._class_outputs() if output.classes else self._prediction()
        used = {name for node in self.nodes for name in node.input}
        tensors = [tensor for tensor in self.tensors if tensor.name in used]
        return helper.make_graph(self.nodes, self.formula.model, inputs, outputs, tensors)

    def _inputs(self) -> list[Any]:
        helper, types = self.onnx.helper, self.onnx.TensorProto
        if self.formula.width is not None:
            for column in self.formula.columns:
                place = self.constant(np.array([int(column.name[1:])]))
                self.memo[column] = self.node("Gather", ["X", place], axis=1)
            return [helper.make_tensor_value_info("X", types.DOUBLE, ["rows", self.formula.width])]
        inputs = []
        for column in self.formula.columns:
            kind = types.STRING if column.kind == "text" else types.DOUBLE
            inputs.append(helper.make_tensor_value_info(column.name, kind, ["rows", 1]))
            self.memo[column] = column.name
        return inputs

    def _prediction(self) -> list[Any]:
        values = [self._expand_rows(each) for each in self.formula.output.predictions]
        name = self._free("prediction")
        self._concatenate(values, name)
        return [self._output(name, self.onnx.TensorProto.DOUBLE, len(values))]

    def _class_outputs(self) -> list[Any]:
        output, types = self.formula.output, self.onnx.TensorProto
        word, label = self._free("probabilities" if output.probabilities else "scores"), self._free("label")
        self._concatenate([self._expand_rows(each) for each in output.of_classes], word)
        decisive = word
        if output.votes:
            decisive = self.node("Concat", [self._expand_rows(each) for each in output.votes], axis=1)
        best = self.node("ArgMax", [decisive], axis=1, keepdims=0, select_last_index=int(output.second_wins))
        labels, kind = self._labels()
        self.nodes.append(self.onnx.helper.make_node("Gather", [labels, best], [label], axis=0))
        return [self._output(label, kind, None), self._output(word, types.DOUBLE, len(output.classes))]

    def _labels(self) -> tuple[str, int]:
        types, classes = self.onnx.TensorProto, self.formula.output.classes
        if all(isinstance(label, bool) for label in classes):
            return self.constant(np.array(classes, dtype=bool)), types.BOOL
        if all(isinstance(label, int) for label in classes):
            return self.constant(np.array(classes, dtype=np.int64)), types.INT64
        if all(isinstance(label, str) for label in classes):
            return self.constant(np.array(classes, dtype=object)), types.STRING
        return self.constant(np.array(classes, dtype=float)), types.DOUBLE

    def _expand_rows(self, expression: Expression) -> str:
        """Return a value with one entry per row, also if it is the same in all rows."""
        first = self.formula.columns[0]
        shape = self.node("Shape", [self.memo[first]])
        return self.node("Expand", [self.write(expression), shape])

    def _concatenate(self, values: Sequence[str], name: str) -> None:
        self.nodes.append(self.onnx.helper.make_node("Concat", list(values), [name], axis=1))

    def _output(self, name: str, kind: int, width: int | None) -> Any:
        shape = ["rows"] if width is None else ["rows", width]
        return self.onnx.helper.make_tensor_value_info(name, kind, shape)

    # Expressions.

    def write(self, expression: Expression) -> str:
        """Return the name of a value, after adding its nodes if they do not exist yet."""
        if expression not in self.memo:
            self.memo[expression] = self._write_new(expression)
        return self.memo[expression]

    def _write_new(self, expression: Expression) -> str:
        match expression:
            case Named(value):
                return self.write(value)
            case NumberValue(value):
                return self.constant(np.array([[value]]))
            case SumOf(terms, constant):
                return self._sum(terms, constant)
            case ProductOf(left, right):
                return self.node("Mul", [self.write(left), self.write(right)])
            case Quotient(left, right):
                return self._quotient(left, right)
            case Exp(power):
                return self.node("Exp", [self.write(power)])
            case Logarithm(of):
                return self._log(of)
            case Arctangent(of):
                return self._arctangent(of)
            case Floor(of):
                return self.node("Floor", [self.write(of)])
            case Sine(of):
                return self.node("Sin", [self.write(of)])
            case TermSum(terms, weights):
                return self._times(self._make_once(terms, self._term_features), weights)
            case PointSum(points, weights):
                return self._times(self._make_once(points, self._compare_points)[0], weights)
            case Nearest(points):
                return str(self._make_once(points, self._compare_points)[1])
            case Greatest(several):
                return self.node("Max", [self.write(each) for each in several])
            case Conditional(condition, then, otherwise):
                return self.node("Where", [self._condition(condition), self.write(then), self.write(otherwise)])
            case Lookup():
                return self._lookup(expression)
        raise TypeError(f"{expression!r} is not an expression")

    def _condition(self, condition: Condition) -> str:
        match condition:
            case Lacks(of):
                return self.node("IsNaN", [self.write(of)])
            case Above(left, right):
                return self.node("Greater", [self.write(left), self.write(right)])

    def _sum(self, terms: Sequence[tuple[float, Expression]], constant: float) -> str:
        # constants have one row, and could not be concatenated with values of many rows
        constant += sum(weight * term.value for weight, term in terms if isinstance(term, NumberValue))
        terms = [(weight, term) for weight, term in terms if not isinstance(term, NumberValue)]
        if not terms:
            return self.constant(np.array([[constant]]))
        if len(terms) < MIN_MATRIX_TERMS:
            total = self._few([(weight, self.write(term)) for weight, term in terms])
        else:
            values = tuple(self.write(term) for _, term in terms)
            if values not in self.memo:
                self.memo[values] = self.node("Concat", values, axis=1)
            total = self._times(self.memo[values], [weight for weight, _ in terms])
        return self.node("Sum", [total, self.constant(np.array([[constant]]))]) if constant else total

    def _few(self, terms: Sequence[tuple[float, str]]) -> str:
        scaled = [value if weight == 1 else self._times(value, [weight]) for weight, value in terms]
        return scaled[0] if len(scaled) == 1 else self.node("Sum", scaled)

    # onnxruntime removes operations that add 0, multiply by 1 or divide by 1, and compares in single precision:
    # Add of 1e-46 and Mul by 1 + 1e-8 would have no effect. Sum and MatMul are not removed.

    def _times(self, value: str, weights: Sequence[float] | Array) -> str:
        return self.node("MatMul", [value, self.constant(np.array(weights)[:, None])])

    def _quotient(self, left: Expression, right: Expression) -> str:
        if isinstance(right, NumberValue) and abs(right.value - 1) < FLOAT32_PRECISION:
            return self._times(self.write(left), [1 / right.value])
        return self.node("Div", [self.write(left), self.write(right)])

    def _log(self, of: Expression) -> str:
        value = self.write(of)
        positive = self.node("Greater", [value, self.constant(np.array([[0.0]]))])
        return self.node("Where", [positive, self.node("Log", [value]), self.constant(np.array([[math.nan]]))])

    def _arctangent(self, of: Expression) -> str:
        # onnxruntime has this operator in single precision only, with an error of 1e-7
        types = self.onnx.TensorProto
        single = self.node("Cast", [self.write(of)], to=types.FLOAT)
        return self.node("Cast", [self.node("Atan", [single])], to=types.DOUBLE)

    def _lookup(self, lookup: Lookup) -> str:
        """Return the position of a value among the labels: 0 for other values, and one beyond the last if missing."""
        value = self.write(lookup.of)
        labels = tuple(label for label, _ in lookup.table)
        key = (value, labels)
        if key not in self.memo:
            text = isinstance(lookup.of, ColumnValue) and lookup.of.kind == "text"
            self.memo[key] = self._place_of_text(lookup.of, labels) if text else self._place_of_number(value, labels)
        numbers = np.array([lookup.other, *(number for _, number in lookup.table), lookup.missing])
        return self.node("Gather", [self.constant(numbers), self.memo[key]], axis=0)

    def _place_of_number(self, value: str, labels: tuple[Any, ...]) -> str:
        return self._place(value, np.array([labels], dtype=float), self.node("IsNaN", [value]))

    def _place_of_text(self, column: Any, labels: tuple[Any, ...]) -> str:
        """Return the position of a string among the labels, ignoring spaces around it."""
        width = self._width(column)
        known = np.array([[_space_out(each, width) for each in labels]], dtype=object)
        return self._place(self._space_out(column, width), known, self._absent(column))

    def _width(self, column: ColumnValue) -> int:
        """Return the number of words to compare: one more than any level has."""
        return 1 + max(len(_words(each)) for each in (*self.levels[column], *column.gaps))

    def _absent(self, column: ColumnValue) -> str:
        """Return whether a string is blank, or a word for a missing value."""
        width = self._width(column)
        gaps = np.array([[_space_out(word, width) for word in column.gaps]], dtype=object)
        places = np.ones((len(column.gaps), 1), dtype=np.int64)
        absent = self.node("MatMul", [self._same(self._space_out(column, width), gaps), self.constant(places)])
        return self.node("Greater", [absent, self.constant(np.array([[0]]))])

    def _place(self, value: str, known: Any, missing: str) -> str:
        n_labels = known.shape[1]
        beyond = self.constant(np.array([[n_labels + 1]]))
        if not n_labels:
            return self.node("Where", [missing, beyond, self.constant(np.array([[0]]))])
        places = self.constant(np.arange(1, n_labels + 1)[:, None])
        return self.node("Where", [missing, beyond, self.node("MatMul", [self._same(value, known), places])])

    def _same(self, value: str, known: Any) -> str:
        """Return 1 if a value is the label of the column, else 0."""
        return self.node("Cast", [self.node("Equal", [value, self.constant(known)])], to=self.onnx.TensorProto.INT64)

    def _space_out(self, column: Any, width: int) -> str:
        """Return the first words of a string with one space between them, as `_space_out` writes labels."""
        key = (column, "words")
        if key not in self.memo:
            space = self.constant(np.array([[" "]], dtype=object))
            ends = self.constant(np.array([[f" {NO_CHARACTER}" * width]], dtype=object))
            words = self._fresh()
            long = self.node("StringConcat", [self.memo[column], ends])
            self.nodes.append(self.onnx.helper.make_node("StringSplit", [long], [words, self._free(f"{words}_n")]))
            first = [self.node("Gather", [words, self.constant(np.array(j))], axis=2) for j in range(width)]
            joined = first[0]
            for word in first[1:]:
                joined = self.node("StringConcat", [self.node("StringConcat", [joined, space]), word])
            self.memo[key] = joined
        return self.memo[key]

    # Sums over points and terms: products of matrices.

    def _make_once(self, group: Any, make: Callable[[Any], Any]) -> Any:
        """Return the nodes that all sums over a group share, which are added once."""
        if group not in self.memo:
            self.memo[group] = make(group)
        return self.memo[group]

    def _compare_points(self, points: KernelPoints) -> tuple[str, str]:
        """Return k(x, z), of shape (rows, points), and the largest exponent of each row."""
        x = self.node("Concat", [self._expand_rows(each) for each in points.inputs], axis=1)
        if points.kernel == "polynomial":
            products = self.node("MatMul", [x, self.constant(points.gamma * points.points.T)])
            base = self.node("Sum", [products, self.constant(np.array([[points.constant]]))])
            power = base
            for _ in range(points.degree - 1):
                power = self.node("Mul", [power, base])
            if not points.degree:
                power = self.node("Exp", [self.node("Sub", [base, base])])
            return power, ""
        # −γ‖x − z‖² from products, relative to the mean of the points, which avoids cancellation
        centre = points.points.mean(axis=0)
        z, gamma = points.points - centre, points.gamma
        x = self.node("Sum", [x, self.constant(-centre[None, :])])
        squares = self.node("Mul", [x, x])
        terms = [
            self.node("MatMul", [x, self.constant(2 * gamma * z.T)]),
            self.node("MatMul", [squares, self.constant(np.full((z.shape[1], 1), -gamma))]),
            self.constant(-gamma * np.square(z).sum(axis=1)[None, :]),
        ]
        exponent = self.node("Min", [self.node("Sum", terms), self.constant(np.array([[0.0]]))])
        if points.kernel == "rbf":
            return self.node("Exp", [exponent]), ""
        top = self.node("ReduceMax", [exponent, self.constant(np.array([1]))], keepdims=1)
        return self.node("Exp", [self.node("Sub", [exponent, top])]), top

    def _term_features(self, terms: TextTerms) -> str:
        """Return the features of the terms, of shape (rows, terms)."""
        blank = self.constant(np.array([[""]], dtype=object))
        text = self.node("Where", [self._absent(terms.column), blank, self.write(terms.column)])
        text = self.node("Reshape", [text, self.constant(np.array([-1]))])
        if terms.lowercase:
            text = self.node("StringNormalizer", [text], case_change_action="LOWER", is_case_sensitive=1, locale=LOCALE)
        words = self.node(
            "Tokenizer",
            [text],
            domain=MICROSOFT_DOMAIN,
            mark=0,
            mincharnum=shortest_word(terms.pattern),
            pad_value=NO_WORD,
            tokenexp=r"[\p{L}\p{N}_]+",
        )
        runs = [term.split(" ") for term in terms.terms]
        order = sorted(range(len(runs)), key=lambda j: len(runs[j]))
        longest = max(map(len, runs))
        starts = [sum(len(run) for run in runs if len(run) < n) for n in range(1, longest + 1)]
        counts = self.node(
            "TfIdfVectorizer",
            [words],
            mode="TF",
            min_gram_length=min(map(len, runs)),
            max_gram_length=longest,
            max_skip_count=0,
            ngram_counts=starts,
            ngram_indexes=order,
            pool_strings=[word for j in order for word in runs[j]],
        )
        values = self.node("Cast", [counts], to=self.onnx.TensorProto.DOUBLE)
        if terms.binary:
            values = self.node("Min", [values, self.write(ONE_VALUE)])
        elif terms.sublinear:
            is_positive = self.node("Greater", [values, self.write(ZERO_VALUE)])
            logs = self.node(
                "Sum", [self.node("Log", [self.node("Max", [values, self.write(ONE_VALUE)])]), self.write(ONE_VALUE)]
            )
            values = self.node("Where", [is_positive, logs, self.write(ZERO_VALUE)])
        values = self.node("Mul", [values, self.constant(terms.factors[None, :])])
        if terms.norm is None:
            return values
        sizes = self.node("Mul", [values, values]) if terms.norm == "l2" else self.node("Abs", [values])
        length = self.node("ReduceSum", [sizes, self.constant(np.array([1]))], keepdims=1)
        length = self.node("Sqrt", [length]) if terms.norm == "l2" else length
        is_positive = self.node("Greater", [length, self.write(ZERO_VALUE)])
        return self.node("Div", [values, self.node("Where", [is_positive, length, self.write(ONE_VALUE)])])

    # Nodes.

    def node(self, kind: str, inputs: Sequence[str], **attributes: Any) -> str:
        name = self._fresh()
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, value: Any) -> str:
        content = value.tobytes() if value.dtype != object else tuple(value.ravel().tolist())
        key = (value.dtype.str, value.shape, content)
        if key not in self.initializers:
            name = self._fresh()
            self.tensors.append(self._tensor(value, name))
            self.initializers[key] = name
        return self.initializers[key]

    def _tensor(self, value: Any, name: str) -> Any:
        if value.dtype != object:
            return self.onnx.numpy_helper.from_array(value, name)
        words = [word.encode() for word in value.ravel().tolist()]
        return self.onnx.helper.make_tensor(name, self.onnx.TensorProto.STRING, value.shape, words)

    def _fresh(self) -> str:
        return self._free(f"v{len(self.nodes) + len(self.tensors)}")

    def _free(self, name: str) -> str:
        """Return a name that no column and no other value has."""
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name
