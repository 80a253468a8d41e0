"""Adds ``/dashboard`` to the application. The pages need no token, since all data that they show comes over the API."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from gristmill.errors import Error
from gristmill.serve.dashboard.bundle import PAGE, STATIC, Asset, load_bundle
from gristmill.serve.http.http_door import HttpDoor
from gristmill.serve.http.request_handling import build_error_response

PATH = "/dashboard"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Allows only our own files, no inline script or style, and no conversion of text to markup: see `docs/guides/dashboard.md`."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
MISSING = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">
<title>Gristmill: the dashboard is not built</title><h1>The dashboard is not built</h1>
<p>Its pages are built from <code>dashboard/</code> and are not in this installation. In a checkout run <code>make setup</code>,
or only <code>python tools/pages.py</code>, and start the service again; a wheel contains them.</p>
<p>Everything else works: see <a href="../docs">the API</a>.</p></html>"""


@asynccontextmanager
async def mount_dashboard(door: HttpDoor, app: FastAPI, *, folder: Path = STATIC) -> AsyncGenerator[None]:
    """Adds the pages to ``app``. Without a bundle the page says how to build it, and the rest of the service works."""
    assets = load_bundle(folder)
    app.router.routes += [
        Route(PATH, partial(_redirect_to_folder, door), include_in_schema=False),
        Route(PATH + "/{name:path}", partial(_serve_asset, door, assets), include_in_schema=False),
    ]
    yield


async def _redirect_to_folder(door: HttpDoor, request: Request) -> Response:
    """Redirects to the folder with a relative address, so that it works under any prefix."""
    return _check_request(door, request) or RedirectResponse("dashboard/", 308, headers=HEADERS)


async def _serve_asset(door: HttpDoor, assets: Mapping[str, Asset], request: Request) -> Response:
    refused = _check_request(door, request)
    if refused is not None:
        return refused
    if not assets:
        return Response(MISSING, 503, {**HEADERS, "Cache-Control": "no-store"}, media_type="text/html")
    asset = assets.get(request.path_params["name"] or PAGE)
    if asset is None:
        return build_error_response(HTTPException(404, "the dashboard has no such file"))
    return _build_response(asset, request)


def _check_request(door: HttpDoor, request: Request) -> Response | None:
    """Applies the request wall to the pages too: a foreign host name must not be able to show our pages as its own."""
    try:
        door.wall.check(request.headers, request.method)
    except Error as error:
        return build_error_response(error)
    return None


def _build_response(asset: Asset, request: Request) -> Response:
    # Browsers ask for the page again each time; the files that it names never change.
    keep = "public, max-age=31536000, immutable" if asset.is_fixed else "no-cache"
    headers = {**HEADERS, "Cache-Control": keep, "ETag": asset.tag, "Vary": "Accept-Encoding", "Content-Type": asset.kind}
    if asset.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if _accepts_gzip(request.headers.get("accept-encoding", "")):
        return Response(asset.packed, headers={**headers, "Content-Encoding": "gzip"})
    return Response(asset.body, headers=headers)


def _accepts_gzip(accepted: str) -> bool:
    for part in accepted.lower().split(","):
        name, _, quality = part.partition(";")
        if name.strip() == "gzip":
            return quality.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
