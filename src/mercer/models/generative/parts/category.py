"""A column of categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mercer._errors import ColumnTypeError, UnseenCategoryError
from mercer._stored import floats, part_of, stored, values
from mercer._suggest import did_you_mean, quoted
from mercer._typing import Array
from mercer.data.coding import Coded, drop_missing_words, label_array
from mercer.data.scales import ends_of_scale, nearest_levels
from mercer.data.table import Table
from mercer.families import Categorical, CategoricalParameters, Parameters
from mercer.families.pseudo_counts import add_alpha
from mercer.models.generative.parts._base import Conditional, Part, Smoothing, sample_by_class
from mercer.models.generative.probabilities import even_where_unknown, log
from mercer.models.linear_forms.pieces import LinearPiece
from mercer.stats import LevelCounts
from mercer.stats.tally import places_of


@stored()
@dataclass(frozen=True)
class CategoryPart(Part):
    """One column. Its levels are those seen and those declared: by its type, a schema, or `Categorical(levels=K)`."""

    unseen: Literal["smooth", "ignore", "error"] = "smooth"
    levels: tuple[Any, ...] | None = None

    def zero(self, groups: int, table: Table) -> LevelCounts:
        zero = LevelCounts.zero(groups)
        for declared in (self._declared(), table.declared_levels(self.columns[0])):
            if declared is not None:
                zero = zero.merge(LevelCounts.zero(groups, declared=declared))
        return zero

    def _declared(self) -> Array | None:
        if self.levels is not None:
            return label_array(list(self.levels))
        codes = self.family.levels if isinstance(self.family, Categorical) else None
        return None if codes is None else np.arange(codes)

    def read(self, table: Table) -> Coded:
        return table.coded(self.columns[0])

    def missing(self, block: Coded) -> Array:
        return np.asarray(block.codes < 0)[:, None]

    def outside(self, block: Coded) -> Array:
        """Every label is a level, or becomes one."""
        return np.zeros(0, dtype=bool)

    def fit(self, statistic: LevelCounts, smoothing: Smoothing) -> CategoryConditional:
        levels, alpha = statistic.levels, smoothing.counts
        nothing = np.zeros(statistic.groups)
        if not len(levels):
            return CategoryConditional(self, CategoricalParameters(np.zeros((statistic.groups, 0))), levels, nothing)
        family = Categorical(len(levels))
        p = even_where_unknown(family.fit(statistic, add_alpha(family, alpha)).probabilities, len(levels))
        of_unseen = even_where_unknown(_share(alpha, statistic.weight + alpha * len(levels)), len(levels))
        unseen = log(of_unseen) if self.unseen == "smooth" else nothing
        return CategoryConditional(self, CategoricalParameters(p), levels, unseen, strict=self.unseen == "error")


@stored(
    lambda own: own.parameters.probabilities.shape == (len(own.unseen), len(own.levels)),
    levels=values("l"),
    unseen=floats("k"),
    parameters=part_of(CategoricalParameters),
)
@dataclass(frozen=True)
class CategoryConditional(Conditional):
    """Probabilities of shape (classes, levels)."""

    levels: Array
    #: what a level never seen adds to the score of each class
    unseen: Array
    #: whether such a level is an error instead
    strict: bool = False

    def by_column(self) -> dict[Any, Parameters]:
        return {self.part.names[0]: self.parameters}

    def tables(self, classes: list[Any]) -> dict[Any, dict[Any, dict[Any, Any]]]:
        """Column -> class -> level -> its probability."""
        levels, probabilities = self.levels.tolist(), self.parameters.probabilities.tolist()
        rows = (dict(zip(levels, row, strict=True)) for row in probabilities)
        return {self.part.names[0]: dict(zip(classes, rows, strict=True))}

    @property
    def ends(self) -> tuple[int, int] | None:
        """The lowest and the highest of levels that are a scale, beyond which numbers count as these; None of others.

        Where a level never seen is an error or says nothing, numbers beyond the scale are such levels, too.
        """
        smoothed = isinstance(self.part, CategoryPart) and self.part.unseen == "smooth"
        return ends_of_scale(self.part.names[0], self.levels.tolist()) if smoothed else None

    def codes(self, block: Coded) -> Array:
        """Positions among the levels; their number for an unseen level, and one more for a missing value."""
        self._refuse_other_type(block.labels)
        block = drop_missing_words(block, set(self.levels.tolist()))
        places = places_of(nearest_levels(block.labels, self.ends), self.levels)
        places = np.append(np.where(places < 0, len(self.levels), places), len(self.levels) + 1)
        return np.asarray(places[block.codes])

    def score(self, block: Coded) -> Array:
        codes = self.codes(block)
        if self.strict and (codes == len(self.levels)).any():
            raise self._unseen_level(block.labels[block.codes[codes == len(self.levels)][0]])
        table = np.vstack([log(self.parameters.probabilities).T, self.unseen, np.zeros_like(self.unseen)])
        return np.asarray(table[codes])

    def _refuse_other_type(self, labels: Array) -> None:
        """Codes that were text and are numbers now would all be unseen, and every prediction a shrug."""
        if _text_against_numbers(labels, self.levels):
            raise ColumnTypeError(
                f"Column {self.part.names[0]!r} held categories such as {quoted(self.levels.tolist()[0])} when the "
                f"model was fitted, and now {quoted(labels.tolist()[0])}; convert it to the type it had."
            )

    def _unseen_level(self, level: Any) -> UnseenCategoryError:
        return UnseenCategoryError(
            f"column {self.part.names[0]!r} holds {quoted(level)}, which was never seen when fitting. "
            f"{did_you_mean(str(level), map(str, self.levels.tolist()))} Correct it, or have it scored with "
            'unseen="smooth" or left out with unseen="ignore".'
        )

    def sample(self, codes: Array, rng: np.random.Generator, *, length: Any = None) -> Array:
        if not len(self.levels):
            return np.full((len(codes), 1), np.nan)
        return np.asarray(self.levels[sample_by_class(Categorical(), self.parameters, codes, rng)])[:, None]

    def linear_piece(self, n_rows: int) -> LinearPiece:
        name, weights = self.part.names[0], log(self.parameters.probabilities)
        names = [f"{name} = {level}" for level in self.levels.tolist()]
        if np.isfinite(self.unseen).all():
            names, weights = [*names, f"{name} is new"], np.column_stack([weights, self.unseen])
        return LinearPiece.of_levels(self.codes, names, weights)


def _text_against_numbers(a: Array, b: Array) -> bool:
    """Whether one of the two is all numbers and the other all text: objects may also be a mixture of both."""
    if not len(a) or not len(b) or (a.dtype == object) == (b.dtype == object):
        return False
    return all(isinstance(word, str) for word in (a if a.dtype == object else b).tolist())


def _share(part: float, total: Array) -> Array:
    """part / total, NaN where there is nothing at all."""
    return np.asarray(np.divide(part, total, out=np.full(total.shape, np.nan), where=total > 0))
