"""What kinds of response there are: of one mean, or of several classes. A `GLM` asks its kind for all that differs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from mercer._typing import Array
from mercer.designs import Coordinates, Observations
from mercer.families import Distribution, Family
from mercer.families.penalties import Strengths
from mercer.models._progress import Progress
from mercer.models.diagnosis import Finding
from mercer.models.glm._overdispersion import overdispersion
from mercer.models.glm.figures import Figures
from mercer.models.glm.settle import Settled
from mercer.models.glm.solve import Limits, Solved


class Kind(ABC):
    """How a response depends on linear predictors. Working coefficients have shape (p,), or (p, predictors)."""

    @abstractmethod
    def problem(self, observations: Observations, strengths: Strengths) -> Any:
        """What is to be minimised."""

    @abstractmethod
    def solve(
        self, problem: Any, solver: str, limits: Limits, start: Array | None, progress: Progress | None
    ) -> Solved:
        """Minimise it."""

    @abstractmethod
    def settle(
        self, solved: Solved, names: Sequence[str], on_separation: str, limits: Limits, progress: Progress | None
    ) -> Settled:
        """Make the answer unique and finite."""

    @abstractmethod
    def figures(self, solved: Solved, coefficients: float, weight_kind: str) -> Figures:
        """Deviance, dispersion and the like."""

    def overdispersion(self, figures: Figures) -> tuple[Finding, ...]:
        """Whether the rows spread more than the family allows."""
        return overdispersion(self.family, figures)

    @property
    @abstractmethod
    def family(self) -> Family:
        """With the parameters that were estimated."""

    @abstractmethod
    def fitted(self, solved: Solved) -> Kind:
        """The kind with parameters of the family as they were estimated."""

    @abstractmethod
    def like(self, other: Kind) -> bool:
        """Whether its coefficients are a start for those of the other."""

    @abstractmethod
    def to_user(self, w: Array, coordinates: Coordinates) -> tuple[Array, Any]:
        """Working coefficients -> `coef_`, `intercept_`."""

    @abstractmethod
    def from_user(self, coefficients: Array, intercept: Any, coordinates: Coordinates) -> Array:
        """The inverse of `to_user`."""

    @abstractmethod
    def linear(self, eta: Array) -> Array:
        """The linear predictors as the user sees them."""

    @abstractmethod
    def mean(self, eta: Array) -> Array:
        """Mean of y, or probabilities of the classes."""

    @abstractmethod
    def log_probabilities(self, eta: Array) -> Array:
        """log p of each class, where the response is one of several."""

    @abstractmethod
    def distribution(self, eta: Array, dispersion: float) -> Distribution:
        """p(y|x) of rows."""
