"""What the audit of known vulnerabilities says: a package that was not looked at is never called sound."""

import json
from typing import Any

import pytest
from tools.audit import judge_answer

SOUND: dict[str, Any] = {"name": "anyio", "version": "4.16.0", "vulns": []}
UNKNOWN: dict[str, Any] = {"name": "mcp", "skip_reason": "Dependency not found"}
LEAKY: dict[str, Any] = {"name": "old", "version": "1.0", "vulns": [{"id": "CVE-1", "fix_versions": ["1.1"]}]}


def answer(*packages: dict[str, Any]) -> str:
    return json.dumps({"dependencies": packages, "fixes": []})


def test_a_vulnerable_package_is_named_with_the_version_that_mends_it() -> None:
    status, text = judge_answer(answer(SOUND, LEAKY), "")
    assert (status, text.splitlines()[0]) == ("vulnerable", "old 1.0: CVE-1, fixed in 1.1")


def test_a_service_that_knows_no_package_has_checked_nothing() -> None:
    assert judge_answer(answer(UNKNOWN, UNKNOWN), "")[0] == "not checked"


@pytest.mark.parametrize("printed", ["", "<html>", "{}"])
def test_without_an_answer_nothing_is_checked_and_the_reason_is_said(printed: str) -> None:
    status, text = judge_answer(printed, "some\nrefused")
    assert (status, text) == ("not checked", "known vulnerabilities: not checked: no network (refused)")


def test_sound_packages_are_counted_and_unknown_ones_named() -> None:
    status, text = judge_answer(answer(SOUND, UNKNOWN), "")
    assert status == "checked"
    assert text == "known vulnerabilities: none in 1 packages; not checked, since the service does not know them: mcp"
