"""``/docs``: the API as a page to read, made from OpenAPI here.

No script and nothing from elsewhere: the page shares its origin with a service that executes code.
"""

from html import escape
from typing import Any

from fastapi import FastAPI, Response

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}"
    "code{font-size:.95em}h2{margin-top:2rem}li{margin:.2rem 0}"
)
_CSP = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"


def add_pages(app: FastAPI) -> None:
    """The page of the API."""

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:  # pyright: ignore[reportUnusedFunction]
        return Response(_page(app.openapi()), media_type="text/html", headers={"Content-Security-Policy": _CSP})


def operations(openapi: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Method, path and description of every operation, in the order of their definition."""
    return [
        (method.upper(), path, operation) for path, methods in openapi["paths"].items() for method, operation in methods.items()
    ]


def parameters(operation: dict[str, Any]) -> list[tuple[str, str]]:
    """Name and place of what an operation takes, the body included."""
    found = [(one["name"], one["in"]) for one in operation.get("parameters", [])]
    body: dict[str, Any] = operation.get("requestBody", {}).get("content", {})
    for kind, content in body.items():
        found.append((content.get("schema", {}).get("$ref", kind).rsplit("/", 1)[-1], "body"))
    return found


def _page(openapi: dict[str, Any]) -> str:
    lines = [f"<!doctype html><html lang=en><meta charset=utf-8><title>Gristmill API</title><style>{_STYLE}</style>"]
    lines.append("<h1>Gristmill API</h1>")
    lines.append("<p>The machine-readable form is <a href=openapi.json>openapi.json</a>.</p>")
    for method, path, operation in operations(openapi):
        lines.append(f"<h2><code>{method} {escape(path)}</code></h2><p>{escape(operation.get('description', ''))}</p><ul>")
        lines += [f"<li><code>{escape(name)}</code> ({escape(place)})</li>" for name, place in parameters(operation)]
        lines.append("</ul>")
    return "\n".join(lines)
