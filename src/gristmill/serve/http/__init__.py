"""The HTTP door: a router for any FastAPI application, and the application that ``gristmill serve --http`` runs."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gristmill.serve.http.app import build_app, router

__all__ = ["build_app", "router"]


def __getattr__(name: str) -> object:
    # FastAPI takes a fifth of a second to import: importing this package alone must not cost that.
    if name not in __all__:
        raise AttributeError(f"module 'gristmill.serve.http' has no attribute {name!r}")
    return getattr(import_module("gristmill.serve.http.app"), name)
