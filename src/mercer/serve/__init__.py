"""Serving a fitted model over HTTP: predictions as JSON, inputs checked against the columns of the fit, and a page."""

from mercer.serve._app import make_app
from mercer.serve._run import serve

__all__ = ["make_app", "serve"]
