"""While modules are loaded nothing else is looked for; afterwards everything is as it was."""

import gc
import os
import subprocess
import sys

import pytest

from gristmill.loading import PLUGINS, loading


def test_garbage_is_not_looked_for_within_and_again_afterwards() -> None:
    assert gc.isenabled()
    with loading():
        assert not gc.isenabled()
        with loading():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_stays_off_for_whoever_had_turned_it_off_and_on_after_a_failure() -> None:
    gc.disable()
    try:
        with loading():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
    with pytest.raises(KeyError), loading():
        raise KeyError
    assert gc.isenabled()


@pytest.mark.parametrize("before", [None, "logfire"])
def test_the_environment_is_as_it_was(monkeypatch: pytest.MonkeyPatch, before: str | None) -> None:
    if before is None:
        monkeypatch.delenv(PLUGINS, raising=False)
    else:
        monkeypatch.setenv(PLUGINS, before)
    with loading():
        assert os.environ[PLUGINS] == "__all__"
    assert os.environ.get(PLUGINS) == before


def test_the_last_of_several_threads_puts_things_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PLUGINS, raising=False)
    one, other = loading(), loading()
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert (gc.isenabled(), os.environ[PLUGINS]) == (False, "__all__")
    other.__exit__(None, None, None)
    assert (gc.isenabled(), os.environ.get(PLUGINS)) == (True, None)


def test_the_models_that_others_build_later_have_their_plugins() -> None:
    program = (
        "import importlib.metadata, pydantic\nfrom gristmill.config.tree import load_config\nload_config()\nasked = []\n"
        "import pydantic.plugin._loader as loader\nloader.entry_points = lambda group: asked.append(group) or ()\n"
        "class Theirs(pydantic.BaseModel):\n    x: int\nprint(asked)"
    )
    environ = {name: value for name, value in os.environ.items() if name != PLUGINS}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True, env=environ)
    assert done.stdout == "['pydantic']\n"
