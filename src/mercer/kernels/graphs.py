"""Kernels of graphs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np

from mercer._errors import KernelError
from mercer._jit.kernels.segments import neighbourhoods
from mercer._stored import stored
from mercer._typing import Array
from mercer.kernels._counts import Counting, Counts, Runs, Vocabulary
from mercer.kernels._graph_input import Graphs, Labels, read
from mercer.kernels._parameters import whole
from mercer.kernels._sequences import numbers_in_order


@stored()
@dataclass(frozen=True, repr=False)
class WeisfeilerLehman(Counting):
    """Σ over rounds and labels of how often a label is in one graph times how often it is in the other
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
        How far a label sees; 0 counts the nodes' own labels only.
    label : str or None, default="label"
        Attribute of networkx nodes. None makes all nodes alike, also those of pairs: only shapes are compared.
    directed : bool, default=False
        Whether a node's neighbours are only those its edges lead to. Otherwise directions do not count.

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
        object.__setattr__(self, "rounds", whole(self.rounds, "rounds", "WeisfeilerLehman"))
        if self.label is not None and not isinstance(self.label, str):
            raise KernelError(f"label must be the name of an attribute of nodes, or None; got {self.label!r}.")
        if not isinstance(self.directed, bool):
            raise KernelError(f"directed must be True or False, got {self.directed!r}.")

    @property
    def reason(self) -> str:
        return "an inner product of counts, one for every label of every round"

    def learned(self, rows: Any) -> tuple[Neighbourhoods, Counts]:
        graphs = self.read(rows, {})
        labels, runs = _relabelled(graphs, (Runs.none(),) * self.rounds)
        vocabulary = Neighbourhoods(self, graphs.alphabet, runs)
        return vocabulary, vocabulary.counts(graphs, labels)

    def read(self, rows: Any, alphabet: Labels) -> Graphs:
        return read(rows, label=self.label, directed=self.directed, alphabet=alphabet)


@stored(lambda own: numbers_in_order(own.alphabet))
@dataclass(frozen=True, eq=False)
class Neighbourhoods(Vocabulary):
    """Labels of each round: the nodes' own, and then what a node and its neighbours had in the round before."""

    kernel: WeisfeilerLehman
    alphabet: Labels
    runs: tuple[Runs, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        return len(self.alphabet), *map(len, self.runs)

    @property
    def n_features(self) -> int:
        return sum(self.sizes)

    def count(self, rows: Any) -> Counts:
        graphs = self.kernel.read(rows, self.alphabet)
        return self.counts(graphs, _relabelled(graphs, self.runs)[0])

    def counts(self, graphs: Graphs, labels: list[Array]) -> Counts:
        return Counts.joined([Counts.of(*each) for each in zip(labels, repeat(graphs.nodes), self.sizes)])


def _relabelled(graphs: Graphs, known: tuple[Runs, ...]) -> tuple[list[Array], tuple[Runs, ...]]:
    """The label of every node in every round, and what labels stand for then."""
    nodes = np.arange(len(graphs.labels))
    starts, stops = graphs.bounds[:-1] + nodes, graphs.bounds[1:] + nodes + 1
    labels, runs = [graphs.labels], []
    for before in known:
        words = neighbourhoods(labels[-1], graphs.bounds, graphs.neighbours)
        numbers, found = before.number(words, starts, stops)
        labels.append(numbers)
        runs.append(found)
    return labels, tuple(runs)
