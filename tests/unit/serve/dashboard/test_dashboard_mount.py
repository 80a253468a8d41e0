"""The pages as files: what may be asked for, with which headers, how large, and what is said when they were not built."""

import asyncio
import gzip
import re
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import httpx2 as httpx
import pytest
from fastapi import FastAPI

from gristmill.config.sections.serve_section import ServeConfig
from gristmill.serve.dashboard.bundle import STATIC, Asset, load_bundle
from gristmill.serve.dashboard.mount import mount_dashboard
from gristmill.serve.http.http_door import HttpDoor
from gristmill.serve.http.limits.request_wall import RequestWall

BUDGET = 120_000
"""Compressed bytes of a first load: as much as it is now, far below the 300 KB that are allowed, so that growth is noticed early."""


def asked(*paths: str, folder: Path = STATIC, headers: Mapping[str, str] = {}) -> list[httpx.Response]:
    """Answers of an application that has the dashboard and one route of its own."""
    door = cast("HttpDoor", SimpleNamespace(wall=RequestWall(config=ServeConfig())))

    async def run() -> list[httpx.Response]:
        app = FastAPI()
        app.get("/health")(lambda: "ok")
        async with mount_dashboard(door, app, folder=folder):
            transport = httpx.ASGITransport(app=app)
            sent = {"Accept-Encoding": "identity", **headers}
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=sent) as client:
                # As raw as a hostile client sends them: a URL library would tidy the dots away.
                return [await client.get(httpx.URL("http://localhost", raw_path=path.encode())) for path in paths]

    return asyncio.run(run())


def one(path: str, **headers: str) -> httpx.Response:
    return asked(path, headers=headers)[0]


@pytest.fixture(scope="module")
def bundle() -> Mapping[str, Asset]:
    found = load_bundle()
    assert found, "the dashboard is not built: run `make setup`, or python tools/pages.py"
    return found


def test_the_page_may_load_nothing_but_its_own_files() -> None:
    policy = dict(part.strip().split(" ", 1) for part in one("/dashboard/").headers["content-security-policy"].split(";"))
    assert policy == {
        "default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "connect-src": "'self'",
        "img-src": "'self' data:", "frame-ancestors": "'none'", "base-uri": "'none'", "form-action": "'none'",
        "require-trusted-types-for": "'script'", "trusted-types": "'none'",
    }  # fmt: skip


def test_the_page_holds_no_script_style_or_address_of_others(bundle: Mapping[str, Asset]) -> None:
    page = bundle["index.html"].body.decode()
    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []
    assert re.findall(r"<style|\bstyle=|\son\w+=|javascript:", page) == []
    assert re.findall(r"""(?:src|href)=["'](?:https?:)?//""", page) == []


def test_no_text_is_made_into_markup(bundle: Mapping[str, Asset]) -> None:
    sources = [path for path in (Path(__file__).parents[4] / "dashboard" / "src").rglob("*.ts*") if path.name != "api.d.ts"]
    markup = re.compile(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function", re.IGNORECASE)
    assert len(sources) > 50
    assert [path.name for path in sources if markup.search(path.read_text())] == []


def test_a_first_load_is_small(bundle: Mapping[str, Asset]) -> None:
    named = re.findall(r"""(?:src|href)=["']([\w-]+\.(?:js|css))["']""", bundle["index.html"].body.decode())
    assert sorted(named) == sorted(name for name in bundle if name != "index.html")
    assert sum(len(bundle[name].packed) for name in (*named, "index.html")) < BUDGET


def test_whoever_takes_gzip_gets_the_same_in_less(bundle: Mapping[str, Asset]) -> None:
    path = next(f"/dashboard/{name}" for name in bundle if name.endswith(".js"))
    plain, packed, refused = (one(path, **{"Accept-Encoding": how}) for how in ("identity", "br, gzip", "gzip;q=0"))
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < len(plain.content) / 2
    assert packed.content == plain.content == refused.content
    assert "content-encoding" not in refused.headers
    assert {plain.headers["vary"], packed.headers["vary"]} == {"Accept-Encoding"}


def test_files_with_a_hash_in_their_name_are_kept_for_good_and_the_page_is_asked_for_again(bundle: Mapping[str, Asset]) -> None:
    script = next(name for name in bundle if name.endswith(".js"))
    page, kept = asked("/dashboard/", f"/dashboard/{script}")
    assert "immutable" in kept.headers["cache-control"]
    assert page.headers["cache-control"] == "no-cache"
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert kept.headers["content-type"] == "text/javascript; charset=utf-8"
    again = one("/dashboard/", **{"If-None-Match": page.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert one("/dashboard/", **{"If-None-Match": '"other"'}).status_code == 200


@pytest.mark.parametrize(
    "path",
    ["/dashboard/../bundle.py", "/dashboard/..%2fbundle.py", "/dashboard/%2e%2e/bundle.py", "/dashboard//etc/passwd",
     "/dashboard/%2fetc%2fpasswd", "/dashboard/..\\bundle.py", "/dashboard/built", "/dashboard/index.html%00.js"],
)  # fmt: skip
def test_nothing_but_the_bundle_can_be_asked_for(path: str) -> None:
    answer = one(path)
    assert (answer.status_code, answer.json().get("code", "request")) in {(404, "request")}


def test_the_short_address_leads_to_the_page_under_any_prefix() -> None:
    answer = one("/dashboard")
    assert (answer.status_code, answer.headers["location"]) == (308, "dashboard/")


def test_a_foreign_name_does_not_show_our_pages() -> None:
    for answer in asked("/dashboard", "/dashboard/", headers={"Host": "evil.example"}):
        assert answer.status_code == 421


def test_without_a_bundle_it_says_how_to_build_it_and_the_rest_works(tmp_path: Path) -> None:
    page, other = asked("/dashboard/", "/health", folder=tmp_path)
    assert (page.status_code, page.headers["cache-control"]) == (503, "no-store")
    assert "make setup" in page.text
    assert other.json() == "ok"


def test_a_bundle_is_read_once_and_packed(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<p>hello</p>")
    (tmp_path / "main-ABCDEFG1.css").write_text("p{}")
    (tmp_path / "notes.txt").write_text("mine")
    found = load_bundle(tmp_path)
    assert {name: asset.is_fixed for name, asset in found.items()} == {"index.html": False, "main-ABCDEFG1.css": True}
    assert gzip.decompress(found["index.html"].packed) == b"<p>hello</p>"


def test_the_lock_file_names_no_registry() -> None:
    lock = (Path(__file__).parents[4] / "dashboard" / "package-lock.json").read_text()
    assert '"resolved"' not in lock
    assert lock.count('"integrity": "sha512-') == lock.count('"node_modules/')
