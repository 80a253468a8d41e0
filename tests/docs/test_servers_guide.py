"""Every example of the guide runs, and every setting of a server is in it."""

import re
import runpy
from pathlib import Path

import pytest

from gristmill.config.sections.servers_section import ServerConfig
from gristmill.config.tree import load_config

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "servers.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", GUIDE, flags=re.DOTALL)


@pytest.mark.parametrize("text", [text for kind, text in BLOCKS if kind == "toml"])
def test_a_configuration_of_the_guide_loads(text: str, tmp_path: Path) -> None:
    file = tmp_path / "gristmill.toml"
    file.write_text(text)
    assert load_config(file).servers


@pytest.mark.parametrize("text", [text for kind, text in BLOCKS if kind == "python"])
def test_a_program_of_the_guide_runs(text: str, tmp_path: Path) -> None:
    file = tmp_path / "example.py"
    file.write_text(text)
    runpy.run_path(str(file), run_name="__main__")


@pytest.mark.parametrize("key", ServerConfig.model_fields)
def test_every_setting_is_in_the_guide(key: str) -> None:
    assert re.search(rf"\b{key}\b", GUIDE)
