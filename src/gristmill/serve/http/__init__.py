"""The HTTP door: a router for any FastAPI application, and the application that ``gristmill serve --http`` runs."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gristmill.serve.http.app import build_app, router

__all__ = ["build_app", "router"]


def __getattr__(name: str) -> object:
    # FastAPI takes a fifth of a second to import: whoever only looks at the package does not pay for it.
    if name not in __all__:
        raise AttributeError(f"module 'gristmill.serve.http' has no attribute {name!r}")
    from gristmill.serve.http import app

    return getattr(app, name)
