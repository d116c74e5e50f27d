"""A fitted model behind HTTP: predictions as JSON, checked against the columns of the fit, and a page to try it."""

from mercer.serving.app import make_app
from mercer.serving.run import serve

__all__ = ["make_app", "serve"]
