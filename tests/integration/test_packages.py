"""Packages for the code: a virtual environment, or a list that the operator's pip installs once."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from gristmill import Config, Runtime
from gristmill.config.tree import SandboxConfig, StoreConfig
from gristmill.errors import ConfigError
from gristmill.model import Outcome
from gristmill.sandbox import managed_packages as packages

CODE_PACKAGES = Path(sys.prefix) / "code"
"""Where `make setup` put pandas."""


def run(config: Config, code: str) -> Outcome:
    async def execute() -> Outcome:
        async with asyncio.timeout(100), Runtime.open(config) as runtime:
            return await runtime.execute(code)

    return asyncio.run(execute())


@pytest.mark.parametrize("preload", [(), ("pandas",)])
def test_pandas_runs_whether_preloaded_or_not(state: Path, preload: tuple[str, ...]) -> None:
    sandbox = SandboxConfig(warm=0, venv=CODE_PACKAGES, preload_packages=preload)
    code = (
        "import sys\nready = 'pandas' in sys.modules\nimport pandas as pd\n"
        "frame = pd.DataFrame({'city': ['A', 'B', 'A'], 'n': [1, 2, 3.5], 't': pd.to_datetime(['2026-01-01', None, '2026-01-02'])})\n"
        "[ready, frame, frame.groupby('city').n.sum(), frame.n.mean(), frame.n > 1, pd.NaT]"
    )
    outcome = run(Config(sandbox=sandbox, store=StoreConfig(path=state)), code)
    assert (outcome.error, outcome.result) == (
        None,
        [
            bool(preload),
            [
                {"city": "A", "n": 1.0, "t": "2026-01-01T00:00:00"},
                {"city": "B", "n": 2.0, "t": None},
                {"city": "A", "n": 3.5, "t": "2026-01-02T00:00:00"},
            ],
            {"A": 4.5, "B": 2.0},
            6.5 / 3,
            [False, True, True],
            None,
        ],
    )


def test_two_runs_do_not_share_numpys_random_numbers(state: Path) -> None:
    config = Config(sandbox=SandboxConfig(warm=2, venv=CODE_PACKAGES, preload_packages=("numpy",)), store=StoreConfig(path=state))

    async def both() -> list[object]:
        async with Runtime.open(config) as runtime:
            code = "import numpy, random\n[numpy.random.rand(), random.random()]"
            return [(await runtime.execute(code)).result for _ in range(2)]

    first, second = asyncio.run(both())
    assert first != second


def test_a_list_is_installed_once_and_then_importable(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    settings = Config(sandbox=SandboxConfig(warm=0, packages=("six",)), store=StoreConfig(path=tmp_path))
    with pytest.raises(ConfigError, match="gristmill packages install"):
        run(settings, "1")
    folder = packages.install_packages(("six",), tmp_path)
    stamp = (folder / "complete").stat().st_mtime_ns
    assert packages.install_packages(("six",), tmp_path) == folder
    assert (folder / "complete").stat().st_mtime_ns == stamp
    assert run(settings, "import six\nsix.text_type.__name__").result == "str"


def test_a_package_that_does_not_exist_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="pip could not install"):
        packages.install_packages(("gristmill-no-such-package",), tmp_path)
    assert list((tmp_path / "packages").iterdir()) == []


def test_the_hosts_own_packages_are_not_visible(state: Path) -> None:
    outcome = run(Config(sandbox=SandboxConfig(warm=0), store=StoreConfig(path=state)), "__import__('msgspec')")
    assert outcome.error_type == "ModuleNotFoundError"


def test_a_preload_that_is_missing_is_reported_and_does_no_harm(state: Path) -> None:
    sandbox = SandboxConfig(warm=0, preload_packages=("no_such_module",))
    assert run(
        Config(sandbox=sandbox, store=StoreConfig(path=state)), "json = __import__('json')\njson.dumps(1)"
    ).result == json.dumps(1)
