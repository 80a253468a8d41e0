"""The sections on masking and flows refuse what could not work."""

from pathlib import Path
from typing import Any

import pytest

from gristmill.config.tree import Config, load_config
from gristmill.errors import ConfigError


def test_empty_masks_what_goes_to_the_model_and_forbids_no_flow() -> None:
    config = Config()
    assert (config.mask.mode, config.mask.kinds.email, config.mask.kinds.ip, config.flows.deny) == ("output", True, False, ())


@pytest.mark.parametrize(
    "section",
    [
        {"patterns": {"email": "x"}}, {"patterns": {"Employee": "x"}}, {"patterns": {"order_number": "x"}}, {"patterns": {"open": "(x"}},
        {"patterns": {"empty": "x*"}}, {"patterns": {"behind": "(?<=a)b"}}, {"patterns": {"back": r"(a)\1"}}, {"names": ["Al"]}, {"mode": "some"},
    ],
)  # fmt: skip
def test_what_cannot_be_masked_is_refused_at_once(section: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        load_config(mask=section)


@pytest.mark.parametrize("rule", ["crm", "crm -> ", "crm -> web -> x", "-> web"])
def test_a_flow_of_another_form_is_refused(rule: str) -> None:
    with pytest.raises(ConfigError, match=r"crm -> web\.\*"):
        load_config(flows={"deny": [rule]})


def test_a_whole_section_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "gristmill.toml"
    file.write_text("""
[mask]
mode = "full"
names = ["Ann Smith"]
allow = ["*@example.com"]
kinds = { ip = true, phone = false }
patterns = { employee = 'EMP-\\d{6}' }
[flows]
deny = ["crm -> web.*"]
""")
    config = load_config(file)
    assert (config.mask.patterns, config.mask.kinds.ip, config.flows.deny) == (
        {"employee": r"EMP-\d{6}"},
        True,
        ("crm -> web.*",),
    )
