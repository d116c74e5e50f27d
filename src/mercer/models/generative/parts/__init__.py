"""The factors p(x_S|y) of a mixed naive Bayes model: which columns, which family, and what they look like fitted."""

from mercer.models.generative.parts._base import Conditional, Part, Smoothing
from mercer.models.generative.parts.category import CategoryPart
from mercer.models.generative.parts.choose import choose_parts
from mercer.models.generative.parts.counts import CountsPart
from mercer.models.generative.parts.gaussian_vector import GaussianVectorPart
from mercer.models.generative.parts.numbers import NumbersPart
from mercer.models.generative.parts.vector import VectorPart
from mercer.models.generative.parts.windows import WindowsPart

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
