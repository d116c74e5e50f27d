"""A fitted model behind HTTP: predictions as JSON, checked against the columns of the fit, and a page to try it."""

from mercer.serve._app import make_app
from mercer.serve._run import serve

__all__ = ["make_app", "serve"]
