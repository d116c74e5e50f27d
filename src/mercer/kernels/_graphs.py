"""The Weisfeiler–Lehman kernel of graphs with labelled nodes, from networkx or from arrays."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import ColumnTypeError, DataError, KernelError, NonFiniteError
from mercer._stored import stored
from mercer._typing import Array
from mercer.kernels._counting import CountingKernel, KernelVocabulary, RunCounts, Runs
from mercer.kernels._sequence_loops import join_neighbours, number_runs
from mercer.kernels._strings import is_numbered_in_order
from mercer.kernels.base import check_whole
from mercer.kernels.inputs import MISSING_TYPES, is_measurement, is_missing, is_sparse, to_objects

#: number of each label
Labels = dict[Hashable, int]

#: form of the rows, for errors
EXPECTED_GRAPHS = (
    "give a list of networkx graphs, or of pairs (edges, labels): an array of two columns, and a label for each node"
)


@dataclass(frozen=True, eq=False)
class Graphs:
    """All graphs as one: the i-th has nodes[i]:nodes[i + 1], and node v has neighbours[bounds[v]:bounds[v + 1]]."""

    nodes: Array
    bounds: Array
    neighbours: Array
    labels: Array
    alphabet: Labels


class _InputGraph(NamedTuple):
    """Edges by the positions of nodes, the number of nodes, and their labels; None where there are none."""

    edges: Array
    n_nodes: int
    labels: Any


def read_graphs(rows: Any, *, label: str | None, directed: bool, alphabet: Labels) -> Graphs:
    """Read graphs side by side; known labels keep their numbers in `alphabet`, and new ones follow."""
    if _is_graph(rows):
        raise DataError("X is one graph, where several are expected; give a list of graphs, [graph].")
    if not isinstance(rows, Iterable) or isinstance(rows, (str, bytes)) or is_sparse(rows):
        raise ColumnTypeError(f"X is {rows!r}, where graphs are expected; {EXPECTED_GRAPHS}.")
    graphs = [_read_graph(row, thing, label) for row, thing in enumerate(to_objects(rows))]
    nodes = np.concatenate([[0], np.cumsum([graph.n_nodes for graph in graphs], dtype=np.int64)])
    bounds, neighbours = _build_adjacency(graphs, nodes, directed)
    alphabet = dict(alphabet)
    labels = _numbered(graphs, alphabet)
    return Graphs(nodes, bounds, neighbours, labels, alphabet)


def _is_graph(thing: Any) -> bool:
    """Return whether an object looks like a graph of networkx, which need not be installed."""
    return all(hasattr(thing, name) for name in ("nodes", "edges", "adjacency"))


def _read_graph(row: int, thing: Any, label: str | None) -> _InputGraph:
    if not isinstance(thing, tuple) and _is_graph(thing):
        return _read_networkx(row, thing, label)
    if is_missing(thing):
        raise NonFiniteError(f"Input X contains {thing!r} in row {row}, where a graph is expected; drop the row.")
    if isinstance(thing, (str, bytes)) or not hasattr(thing, "__len__") or len(thing) != 2:
        raise ColumnTypeError(f"row {row} is {_describe(thing)}, which is not a graph; {EXPECTED_GRAPHS}.")
    edges, labels = thing
    if not _is_list(labels):
        raise ColumnTypeError(
            f"the labels of graph {row} are {_describe(labels)}; give a list with one for each node, in their order."
        )
    return _InputGraph(_check_edges(row, edges), len(labels), None if label is None else labels)


def _is_list(labels: Any) -> bool:
    """Return whether labels have an order: a dictionary or a set has one of its own."""
    if hasattr(labels, "shape"):
        return len(labels.shape) == 1
    return isinstance(labels, Sequence) and not isinstance(labels, (str, bytes))


def _read_networkx(row: int, graph: Any, label: str | None) -> _InputGraph:
    places = {node: place for place, node in enumerate(graph.nodes)}
    ends = [places[node] for edge in graph.edges() for node in edge[:2]]
    edges = np.array(ends, dtype=np.int64).reshape(-1, 2)
    if label is None:
        return _InputGraph(edges, len(places), None)
    labels = [attributes.get(label) for _, attributes in graph.nodes(data=True)]
    if any(value is None for value in labels):
        _check_unlabelled(row, graph, label, labels)
        return _InputGraph(edges, len(places), None)
    return _InputGraph(edges, len(places), labels)


def _check_unlabelled(row: int, graph: Any, label: str, labels: list[Any]) -> None:
    """Raise if nodes without this label have other attributes: a graph without any attributes has no labels."""
    node = list(graph.nodes)[next(place for place, value in enumerate(labels) if value is None)]
    others = sorted({str(name) for _, attributes in graph.nodes(data=True) for name in attributes})
    if others:
        raise DataError(
            f"node {node!r} of graph {row} has no {label!r}, while its nodes have {', '.join(map(repr, others))}; give "
            "it one, name the attribute by label=…, or let label=None compare shapes only."
        )


def _check_edges(row: int, edges: Any) -> Array:
    result = np.asarray(edges)
    if result.size == 0:
        return np.zeros((0, 2), np.int64)
    if result.ndim != 2 or result.shape[1] != 2 or result.dtype.kind not in "iu":
        raise ColumnTypeError(
            f"the edges of graph {row} are {_describe(edges)}; give an array of two columns of whole numbers, the "
            "nodes that each edge joins, counted from 0."
        )
    return result


def _build_adjacency(graphs: list[_InputGraph], nodes: Array, directed: bool) -> tuple[Array, Array]:
    """Return the neighbours of every node, each once however often its edge was given."""
    total = int(nodes[-1])
    edges = np.concatenate([np.zeros((0, 2), np.int64), *(graph.edges for graph in graphs)]).astype(np.int64)
    owners = np.repeat(np.arange(len(graphs)), [len(graph.edges) for graph in graphs])
    _check_edges_inside(edges, owners, np.diff(nodes))
    edges += nodes[owners, None]
    if not directed:
        edges = np.concatenate([edges, edges[:, ::-1]])
    pairs = np.sort(edges[:, 0] * total + edges[:, 1])  # faster than np.unique, which hashes
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    sources, neighbours = np.divmod(pairs, max(total, 1))
    return np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=total))]).astype(np.int64), neighbours


def _check_edges_inside(edges: Array, owners: Array, sizes: Array) -> None:
    outside = ((edges < 0) | (edges >= sizes[owners, None])).any(axis=1)
    if outside.any():
        edge = int(np.argmax(outside))
        row = int(owners[edge])
        raise DataError(
            f"the edge {tuple(edges[edge].tolist())} of graph {row} leads beyond its {sizes[row]} nodes, one for each "
            "label; give each node a label, and count nodes from 0."
        )


def _numbered(graphs: list[_InputGraph], alphabet: Labels) -> Array:
    """A number for the label of every node; nodes without one are all alike."""
    parts: list[Any] = [[None] * graph.n_nodes if graph.labels is None else graph.labels for graph in graphs]
    if parts and all(isinstance(part, np.ndarray) and part.dtype.kind in "iub" for part in parts):
        flat = np.concatenate(parts).astype(np.int64)
        every = np.arange(len(flat))
        places, firsts = number_runs(flat, every, every + 1)
        return np.asarray(_in_alphabet(flat[firsts].tolist(), alphabet)[places])
    _check_labels(graphs)
    values = [value for part in parts for value in (part.tolist() if isinstance(part, np.ndarray) else part)]
    return _in_alphabet(values, alphabet)


def _in_alphabet(values: list[Hashable], alphabet: Labels) -> Array:
    return np.array([alphabet.setdefault(value, len(alphabet)) for value in values], np.int64)


def _check_labels(graphs: list[_InputGraph]) -> None:
    for row, graph in enumerate(graphs):
        if graph.labels is not None and any(map(_is_invalid_label, set(map(type, graph.labels)))):
            place, value = next(
                (place, value) for place, value in enumerate(graph.labels) if _is_invalid_label(type(value))
            )
            where = f"the label of node {place} of graph {row} is {value!r}"
            if is_missing(value):
                raise NonFiniteError(f"{where}: it is missing. Give each node one, or let label=None compare shapes.")
            raise ColumnTypeError(
                f"{where}: labels are texts or whole numbers, equal or not; cut measurements into bins."
            )


def _is_invalid_label(kind: type) -> bool:
    """Return whether objects of a type cannot be labels."""
    return kind.__name__ in MISSING_TYPES or getattr(kind, "__hash__", None) is None or is_measurement(kind)


def _describe(thing: Any) -> str:
    text = f"an array of shape {thing.shape}" if isinstance(thing, np.ndarray) else repr(thing)
    return text if len(text) <= 60 else f"{text[:57]}…"


@stored()
@dataclass(frozen=True, repr=False)
class WeisfeilerLehman(CountingKernel):
    """Σ over rounds and labels of the count of a label in one graph times that in the other
    (Shervashidze et al. 2011, the subtree kernel).

    In round 0 nodes have their own labels; in each further round a node's label is its last one together with those of
    its neighbours. Rows are networkx graphs, or pairs (edges, labels): an array of two columns, nodes counted from 0,
    and a label, a text or a whole number, for each node.

    An edge given twice, in whichever order of its ends, is one edge. A loop makes a node its own neighbour. A node
    without edges keeps a label of its own kind in every round. A graph without nodes has kernel 0 with every other.
    Nodes of networkx graphs without any attributes are all alike; their label in round 1 is then their degree.

    Parameters
    ----------
    rounds : int, default=5
        Rounds, the distance up to which neighbours enter a label; 0 counts only the nodes' own labels.
    label : str or None, default="label"
        Attribute of networkx nodes. None makes all nodes alike, also those of pairs: only shapes are compared.
    directed : bool, default=False
        Whether a node's neighbours are only those its edges lead to. Otherwise directions have no effect.

    Examples
    --------
    >>> path, edge = ([(0, 1), (1, 2)], ["C", "O", "C"]), ([(0, 1)], ["C", "O"])
    >>> WeisfeilerLehman(rounds=0)([path, edge])
    array([[5., 3.],
           [3., 2.]])
    >>> WeisfeilerLehman(rounds=1)([path, edge])
    array([[10.,  5.],
           [ 5.,  4.]])
    """

    rounds: int = 5
    label: str | None = "label"
    directed: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "rounds", check_whole(self.rounds, "rounds", "WeisfeilerLehman"))
        if self.label is not None and not isinstance(self.label, str):
            raise KernelError(f"label must be the name of an attribute of nodes, or None; got {self.label!r}.")
        if not isinstance(self.directed, bool):
            raise KernelError(f"directed must be True or False, got {self.directed!r}.")

    @property
    def reason(self) -> str:
        return "an inner product of counts, one for every label of every round"

    def learn(self, rows: Any) -> tuple[Neighbourhoods, RunCounts]:
        graphs = self.read(rows, {})
        labels, runs = _relabel(graphs, (Runs.empty(),) * self.rounds)
        vocabulary = Neighbourhoods(self, graphs.alphabet, runs)
        return vocabulary, vocabulary.counts(graphs, labels)

    def read(self, rows: Any, alphabet: Labels) -> Graphs:
        return read_graphs(rows, label=self.label, directed=self.directed, alphabet=alphabet)


@stored(lambda own: is_numbered_in_order(own.alphabet))
@dataclass(frozen=True, eq=False)
class Neighbourhoods(KernelVocabulary):
    """Labels of each round: the nodes' own, then those that combine a node and its neighbours in the round before."""

    kernel: WeisfeilerLehman
    alphabet: Labels
    runs: tuple[Runs, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        return len(self.alphabet), *map(len, self.runs)

    @property
    def n_features(self) -> int:
        return sum(self.sizes)

    def count(self, rows: Any) -> RunCounts:
        graphs = self.kernel.read(rows, self.alphabet)
        return self.counts(graphs, _relabel(graphs, self.runs)[0])

    def counts(self, graphs: Graphs, labels: list[Array]) -> RunCounts:
        return RunCounts.join([RunCounts.of(*each) for each in zip(labels, repeat(graphs.nodes), self.sizes)])


def _relabel(graphs: Graphs, known: tuple[Runs, ...]) -> tuple[list[Array], tuple[Runs, ...]]:
    """Return the label of every node in every round, and the runs that labels stand for."""
    nodes = np.arange(len(graphs.labels))
    starts, stops = graphs.bounds[:-1] + nodes, graphs.bounds[1:] + nodes + 1
    labels, runs = [graphs.labels], []
    for before in known:
        words = join_neighbours(labels[-1], graphs.bounds, graphs.neighbours)
        numbers, runs_known = before.number(words, starts, stops)
        labels.append(numbers)
        runs.append(runs_known)
    return labels, tuple(runs)
