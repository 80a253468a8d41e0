"""Serves ``/docs``: the API as a page for people, made from the OpenAPI document.

The page has no script and loads nothing from other hosts: it shares its origin with a service that executes code.
"""

import re
from html import escape
from typing import Any

from fastapi import FastAPI, Response

from gristmill.serve.http.shapes.describe_api import ApiField, ApiOperation, ApiShape, list_operations, list_shapes

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}"
    "code{font-size:.95em;overflow-wrap:anywhere}h2{margin-top:2.5rem}h3{margin:2rem 0 .25rem}li{margin:.2rem 0}p{margin:.5rem 0}"
)
_CSP = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"
_HEAD = (
    "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
    f"<style>{_STYLE}</style><title>Gristmill API</title><h1>Gristmill API</h1>"
    "<p>The machine-readable form is <a href=openapi.json>openapi.json</a>. The body of every other status than those named is a "
    "<a href=#ProblemView>problem</a>: <code>application/problem+json</code> with <code>code</code> and <code>message</code>."
)
_SOCKET = (
    'Executions and their events over one connection. Send `{"type": "execute", "ref": "1", "code": …}` with the fields of '
    "`ExecuteRequest`; every event has the same `ref`, and the last one is the `outcome` or a `problem`. "
    '`{"type": "cancel", "execution": …}` cancels one. '
    'A client that cannot send headers begins with `{"type": "hello", "token": …}`.'
)


def add_docs_page(app: FastAPI) -> None:
    """Adds the page of the API to ``app``."""

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:  # pyright: ignore[reportUnusedFunction]
        return Response(_render_page(app.openapi()), media_type="text/html", headers={"Content-Security-Policy": _CSP})


def _render_page(openapi: dict[str, Any]) -> str:
    known = list_shapes(openapi)
    names = {shape.name for shape in known}
    lines = [
        _HEAD,
        *(_render_operation(one, names) for one in list_operations(openapi)),
        f"<h3><code>WebSocket /ws</code></h3><p>{_render_text(_SOCKET, names)}</p>",
        "<h2>Shapes</h2>",
        *(_render_shape(one, names) for one in known),
    ]
    return "\n".join(lines)


def _render_operation(one: ApiOperation, names: set[str]) -> str:
    taken = "".join(
        f"<li>{_render_text(f'`{each.name}`', names)} ({_render_text(', '.join(filter(None, (each.place, each.kind))), names)})"
        "</li>"
        for each in one.takes
    )
    answers = ", ".join(_render_text(" ".join(filter(None, answer)), names) for answer in one.answers)
    about = f"<p>{_render_text(one.about, names)}</p>" + (f"<ul>{taken}</ul>" if taken else "")
    return f"<h3><code>{one.method} {escape(one.path)}</code></h3>{about}<p>Answers {answers}.</p>"


def _render_shape(one: ApiShape, names: set[str]) -> str:
    fields = "".join(f"<li><code>{escape(each.name)}</code> {_render_field(each, names)}</li>" for each in one.fields)
    return (
        f"<h3 id={escape(one.name)}><code>{escape(one.name)}</code></h3><p>{_render_text(one.about, names)}</p><ul>{fields}</ul>"
    )


def _render_field(one: ApiField, names: set[str]) -> str:
    return f"({_render_text(one.kind, names)})" + (f": {_render_text(one.about, names)}" if one.about else "")


def _render_text(text: str, names: set[str]) -> str:
    """Renders text as HTML: parts between backticks as code, and names of shapes as links to them."""
    plain_and_code = re.split(r"`([^`]*)`", text)  # plain text and code alternate
    return "".join(_render_code(part, names) if place % 2 else escape(part) for place, part in enumerate(plain_and_code))


def _render_code(text: str, names: set[str]) -> str:
    shown = f"<code>{escape(text)}</code>"
    return f"<a href=#{escape(text)}>{shown}</a>" if text in names else shown
