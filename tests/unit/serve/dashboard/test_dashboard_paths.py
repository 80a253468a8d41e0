"""The addresses that the dashboard's client makes of the paths of the OpenAPI document."""

from typing import Any

import pytest

from tests.unit.serve.dashboard.scripts import said

IMPORTS = 'import { fillPath } from "./src/api/fill-path.ts";'


def fill(template: str, /, **given: Any) -> str:
    return said(IMPORTS, "(template, given) => fillPath(template, given)", template, given)


def test_a_parameter_of_the_path_is_filled_in_and_the_others_become_the_query() -> None:
    assert fill("/tools") == "tools"
    assert fill("/executions", limit=5, status="failed") == "executions?limit=5&status=failed"
    assert fill("/skills/{name}/diff", name="double", old=1, new=2) == "skills/double/diff?old=1&new=2"


def test_an_empty_filter_is_not_sent_and_a_false_one_is() -> None:
    assert fill("/approvals", pending=False, limit="", after=None) == "approvals?pending=false"


@pytest.mark.parametrize("name", ["../audit", "a/b", "a?b=c", "a#b", "a%2Fb", "grün"])
def test_a_name_stays_one_part_of_the_path(name: str) -> None:
    made = fill("/sessions/{id}", id=name)
    assert made.startswith("sessions/")
    assert not set("/?#") & set(made.removeprefix("sessions/"))


def test_only_the_path_of_a_file_keeps_its_slashes() -> None:
    assert fill("/sessions/{id}/files/{path}", id="a/b", path="deep/er/x?.json") == "sessions/a%2Fb/files/deep/er/x%3F.json"
    assert fill("/tools/{server}/{tool}", server="s", tool="a/b") == "tools/s/a%2Fb"
