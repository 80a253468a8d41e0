"""The story of one execution, told with fakes."""

import asyncio
from pathlib import Path

from gristmill.config import Config
from gristmill.events import ignore
from gristmill.model import Execution, Outcome, Report, Usage
from gristmill.runtime.discover import Discovery
from gristmill.runtime.execute import execute
from gristmill.runtime.library import Library
from gristmill.runtime.rooms import Rooms
from gristmill.sandbox.kept import KeepRules, Kept
from gristmill.session.workspace import Workspaces
from gristmill.testing import FakePool
from gristmill.upstream.base import Upstreams


def run(execution: Execution, pool: FakePool, tmp_path: Path) -> Outcome:
    upstreams = Upstreams(())
    library = Library(upstreams, tmp_path)
    rooms = Rooms(
        config=Config(),
        pool=pool,
        kept=Kept(pool, KeepRules(idle_seconds=10, most=3, memory_mb=100)),
        workspaces=Workspaces(root=tmp_path, uid=0, gid=0),
        upstreams=upstreams,
        library=library,
        discovery=Discovery(upstreams, library),
    )
    return asyncio.run(execute(rooms, execution, ignore))


def test_a_report_becomes_an_outcome(tmp_path: Path) -> None:
    report = Report(
        status="ok", output="hi", result=1, usage=Usage(seconds=0.0015, memory_mb=2.5, calls=1), tools_called=("crm.find",)
    )
    outcome = run(Execution(id="x", code="1"), FakePool(lambda _: report), tmp_path)
    assert outcome == Outcome(
        id="x", status="ok", success=True, output="hi", result=1, error=None, error_type=None, limit=None, execution_time_ms=1.5,
        memory_mb=2.5, tools_called=("crm.find",), isolation="namespaces", truncated=False, state="fresh", session=None,
    )  # fmt: skip


def test_refused_code_never_reaches_a_sandbox(tmp_path: Path) -> None:
    pool = FakePool()
    outcome = run(Execution(id="x", code="", session="ann"), pool, tmp_path)
    assert (outcome.status, outcome.success, outcome.error_type, pool.opened) == ("refused", False, "refused.code", [])


def test_a_session_keeps_its_sandbox_and_gets_its_folder(tmp_path: Path) -> None:
    pool = FakePool()
    run(Execution(id="x", code="1", session="ann"), pool, tmp_path)
    assert [job.session for job in pool.opened[0].jobs] == ["ann"]
    assert [folder.name.partition("-")[0] for folder in tmp_path.iterdir()] == ["ann"]


def test_a_bad_session_name_is_refused(tmp_path: Path) -> None:
    assert run(Execution(id="x", code="1", session="a\nb"), FakePool(), tmp_path).status == "refused"
