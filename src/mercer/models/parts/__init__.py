"""The factors p(x_S|y) of a mixed naive Bayes model: which columns, which family, and what they look like fitted."""

from mercer.models.parts._base import Conditional, Part, Smoothing
from mercer.models.parts.category import CategoryPart
from mercer.models.parts.choose import choose_parts
from mercer.models.parts.counts import CountsPart
from mercer.models.parts.gaussian_vector import GaussianVectorPart
from mercer.models.parts.numbers import NumbersPart
from mercer.models.parts.vector import VectorPart
from mercer.models.parts.windows import WindowsPart

__all__ = [
    "CategoryPart",
    "Conditional",
    "CountsPart",
    "GaussianVectorPart",
    "NumbersPart",
    "Part",
    "Smoothing",
    "VectorPart",
    "WindowsPart",
    "choose_parts",
]
