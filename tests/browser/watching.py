"""What is noted of a tab while a test uses it: complaints, foreign requests, dialogs, bytes; and what axe finds."""

from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from playwright.sync_api import ConsoleMessage, Dialog, Page, Request

ARTIFACTS = Path(__file__).parents[1] / "artifacts"
AXE = (files("axe_playwright_python") / "axe.min.js").read_text()
GRAVE = ("serious", "critical")
WIDE, PHONE = (1280, 900), (360, 740)


@dataclass(eq=False)  # no slots: the browser keeps a note on whoever listens
class Watched:
    """A tab. ``complaints`` hold what the browser said against the page, a breach of its security policy included."""

    page: Page
    base: str
    complaints: list[str] = field(default_factory=list[str])
    foreign: list[str] = field(default_factory=list[str])
    dialogs: list[str] = field(default_factory=list[str])
    transferred: float = 0.0

    def __post_init__(self) -> None:
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._asked)
        self.page.on("dialog", self._opened)
        network: Any = self.page.context.new_cdp_session(self.page)
        network.on("Network.loadingFinished", self._loaded)
        network.send("Network.enable")

    def open(self, place: str = "") -> Page:
        """Go to a page of the dashboard and wait until it has what it shows."""
        self.page.goto(f"{self.base}/dashboard/#/{place}")
        return self.settled()

    def settled(self) -> Page:
        """Wait until the page has a heading and nothing in it is still loading."""
        self.page.locator("main h1").first.wait_for()
        self.page.locator("main .quiet[aria-busy=true]").first.wait_for(state="detached")
        return self.page

    def show(self, name: str, size: tuple[int, int], scheme: Any) -> None:
        """Look at it in this size and scheme, and keep the picture."""
        self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        self.page.set_viewport_size({"width": size[0], "height": size[1]})
        ARTIFACTS.mkdir(exist_ok=True)
        self.page.screenshot(path=ARTIFACTS / f"{name}.png", full_page=True)

    def grave(self, *only: str) -> list[str]:
        """What axe finds that keeps somebody from using the page; by all its rules, or by these."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE)
        options = {"resultTypes": ["violations"], **({"runOnly": list(only)} if only else {})}
        found: list[Any] = self.page.evaluate("options => axe.run(options).then(found => found.violations)", options)
        return [
            f"{one['id']}: {one['help']} at {node['target']}" for one in found if one["impact"] in GRAVE for node in one["nodes"]
        ]

    def too_wide(self) -> int:
        """How many pixels of the page lie beyond its right edge."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((self.base, "data:", "blob:")):
            self.foreign.append(request.url)

    def _opened(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def _loaded(self, event: Any) -> None:
        self.transferred += event["encodedDataLength"]
