"""One real service for most tests: its own process, the real sandbox, tokens of two tenants."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from gristmill.config.sections.serve_section import Scope
from gristmill.config.tree import Config, StoreConfig, load_config
from gristmill.runtime.open.open_records import open_config_store
from gristmill.serve.access_tokens import TokenRegister

ROOT = Path(__file__).parents[3]
TOKENS: dict[str, tuple[str, str, tuple[Scope, ...]]] = {
    "ann": ("ann", "acme", ("execute",)),
    "ann_reveal": ("ann", "acme", ("execute", "reveal")),
    "reader": ("rita", "acme", ("read",)),
    "boss": ("bob", "acme", ("approve",)),
    "boss_reveal": ("bob", "acme", ("approve", "reveal")),
    "ann_both": ("ann", "acme", ("execute", "approve")),
    "admin": ("adam", "acme", ("execute", "read", "approve", "admin")),
    "eve": ("eve", "evil", ("execute", "read", "approve", "admin")),
    "ann_evil": ("ann", "evil", ("execute", "read")),
    "operator": ("ops", "local", ("admin", "read")),
}
SETTINGS = """
[policy]
ask = ["crm.send"]
[policy.revert]
"crm.send" = "crm.send(to=result.sent)"
[sandbox]
warm = 2
concurrency = 4
[serve]
port = 0
body_bytes = 200_000
request_seconds = 3.0
"""


@dataclass(slots=True, kw_only=True)
class Service:
    """A running service and the tokens that open it."""

    process: subprocess.Popen[str]
    url: str
    config: Config
    tokens: dict[str, str]
    lines: list[str] = field(default_factory=list[str])
    reader: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        # Somebody must read what it logs: a full pipe would stop it.
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stderr or ()), daemon=True)
        self.reader.start()

    def client(self, who: str | None = None, **options: Any) -> httpx.Client:
        """A client that is ``who``, or nobody."""
        headers = {"Authorization": f"Bearer {self.tokens[who]}"} if who else {}
        return httpx.Client(base_url=self.url, headers={**headers, **options.pop("headers", {})}, timeout=60, **options)

    @property
    def address(self) -> tuple[str, int]:
        host, port = self.url.removeprefix("http://").split(":")
        return host, int(port)

    def end(self, number: int = signal.SIGTERM) -> str:
        """End it; what it logged."""
        self.process.send_signal(number)
        self.process.wait(timeout=60)
        self.reader.join(timeout=10)
        return "".join(self.lines)


def make_tokens(config: Config, wanted: dict[str, tuple[str, str, tuple[Scope, ...]]]) -> dict[str, str]:
    async def make() -> dict[str, str]:
        async with open_config_store(config) as store:
            tokens = TokenRegister(store)
            return {
                key: (await tokens.create(name, tenant=tenant, scopes=scopes))[0]
                for key, (name, tenant, scopes) in wanted.items()
            }

    return asyncio.run(make())


LAUNCH = ("-m", "tests.e2e.http.launch")


@contextmanager
def start(
    state: Path, settings: str = SETTINGS, tokens: dict[str, str] | None = None, command: Sequence[str] = LAUNCH
) -> Generator[Service]:
    """Start the service over ``state``."""
    file = state / "gristmill.toml"
    file.write_text(settings)
    config = load_config(file, store={"path": str(state)})
    made = make_tokens(config, TOKENS) if tokens is None else tokens
    environment = {**os.environ, "GRISTMILL_STORE__PATH": str(state), "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    process = subprocess.Popen(
        [sys.executable, *command, str(file)], cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    service: Service | None = None
    try:
        said = [process.stderr.readline()]
        while said[-1] and not said[-1].startswith("listening on "):  # a server that fails at once is told before
            said.append(process.stderr.readline())
        assert said[-1], "".join(said)
        service = Service(process=process, url=said[-1].split()[-1], config=config, tokens=made, lines=said[:-1])
        yield service
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        if service is not None:
            service.reader.join(timeout=10)
        process.stderr.close()


@pytest.fixture(scope="session")
def new_state(tmp_path_factory: pytest.TempPathFactory, state: Path) -> Callable[[], Path]:
    def make() -> Path:
        folder = tmp_path_factory.mktemp("http")
        folder.chmod(0o755)  # code runs as another user when we are root
        return folder

    return make


@pytest.fixture(scope="session")
def service(new_state: Callable[[], Path]) -> Generator[Service]:
    with start(new_state()) as running:
        yield running


Start = Callable[..., AbstractContextManager[Service]]


@pytest.fixture
def starting(new_state: Callable[[], Path]) -> Start:
    """Start another service, with other settings."""

    def begin(settings: str = SETTINGS, *, state: Path | None = None, tokens: dict[str, str] | None = None) -> Any:
        return start(state or new_state(), settings, tokens)

    return begin


def local_config(state: Path, **sections: Any) -> Config:
    """A configuration for a service inside the test's own process."""
    return Config(store=StoreConfig(path=state), **sections)
