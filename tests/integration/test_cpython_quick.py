"""CPython's own tests pass inside the sandbox as they do outside: a subset of what `make test-cpython` runs."""

import importlib.util

import pytest
from tools import cpython_tests


@pytest.mark.requirement("T62")
@pytest.mark.skipif(importlib.util.find_spec("test.support") is None, reason="allowed: this Python has no tests of its own")
def test_what_passes_outside_passes_inside_or_has_a_reason(capsys: pytest.CaptureFixture[str]) -> None:
    code = cpython_tests.main(["--quick"])
    assert code == 0, capsys.readouterr().out
