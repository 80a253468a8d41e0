"""Results are held against the schemas of a stranger, who may not make us fetch or wait."""

import socket
import threading
from pathlib import Path

import pytest

from gristmill.errors import ToolFailed
from gristmill.upstream.output_checks import OutputChecks

SCHEMA: dict[str, object] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def _checks(**schemas: dict[str, object]) -> OutputChecks:
    checks = OutputChecks()
    checks.set_schemas(schemas)
    return checks


def test_a_result_that_keeps_its_promise_passes_and_another_does_not() -> None:
    checks = _checks(tool=SCHEMA)
    checks.check("tool", {"n": 1})
    checks.check("unknown", {"n": "x"})
    with pytest.raises(ToolFailed, match="at n"):
        checks.check("tool", {"n": "x"})


def test_a_changed_schema_takes_the_place_of_the_old_one() -> None:
    checks = _checks(tool=SCHEMA)
    checks.check("tool", {"n": 1})
    checks.set_schemas({"tool": {"type": "array"}})
    checks.check("tool", [1])
    checks.set_schemas({})
    checks.check("tool", "anything")


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://127.0.0.1:1/schema.json"},
        {"$ref": "file:///etc/passwd"},
        {"type": 12},
        {"type": "string", "pattern": "("},
        {"$schema": "http://127.0.0.1:1/dialect"},
    ],
)
def test_a_schema_that_cannot_be_used_promises_nothing_and_fetches_nothing(schema: dict[str, object]) -> None:
    _checks(tool=schema).check("tool", {"anything": True})


def test_a_reference_is_fetched_neither_from_the_network_nor_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text('{"type": "integer"}')
    visitors: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            while True:
                try:
                    visitor, _ = listener.accept()
                except OSError:
                    return
                visitors.append(visitor)
                visitor.close()

        threading.Thread(target=hang_up, daemon=True).start()
        port = listener.getsockname()[1]
        for reference in (f"http://127.0.0.1:{port}/schema.json", f"file://{tmp_path}/schema.json"):
            _checks(tool={"$ref": reference}).check("tool", "text")
        listener.shutdown(socket.SHUT_RDWR)
    assert not visitors


def test_a_pattern_made_to_take_for_ever_does_not() -> None:
    checks = _checks(tool={"type": "string", "pattern": "^(a+)+$"})
    with pytest.raises(ToolFailed):
        checks.check("tool", "a" * 50_000 + "!")


def test_a_pattern_that_only_a_backtracking_engine_could_run_is_not_run() -> None:
    _checks(tool={"type": "string", "pattern": "^(?=(a+)+b)c$"}).check("tool", "a" * 50_000)


def test_a_long_result_is_not_quoted_whole() -> None:
    with pytest.raises(ToolFailed) as caught:
        _checks(tool={"type": "integer"}).check("tool", "x" * 100_000)
    assert len(str(caught.value)) < 500
