"""Failures of runs that met a limit, were cut or crashed, and errors that a door answers without a run."""

from gristmill.runtime.hints.failure_class import FailureClass

_LIMITED = frozenset({"limited"})
_ERROR = frozenset({"error"})

LIMIT_FAILURES = (
    FailureClass(
        name="limit.sleep",
        when="the time limit passed while the program slept",
        status=_LIMITED,
        limit="seconds",
        needs=("sleeping_line",),
        hint="it slept at line {sleeping_line}: do not wait or poll in a program; end it, and look again with another run",
    ),
    FailureClass(
        name="limit.slow_tool",
        when="the time limit passed while the program waited for tools",
        status=_LIMITED,
        limit="seconds",
        needs=("slow_tool",),
        hint=(
            "{where}{slow_tool} took most of the time: make calls at the same time (await asyncio.gather(*calls)), or "
            "fewer in one run"
        ),
    ),
    FailureClass(
        name="limit.seconds",
        when="the time limit passed while the program computed",
        status=_LIMITED,
        limit="seconds",
        hint="{where}its own lines took the {value} s, not tools: look for a loop that does not end, or do less in one run",
    ),
    FailureClass(
        name="limit.cpu_seconds",
        when="the limit of computing time passed",
        status=_LIMITED,
        limit="cpu_seconds",
        hint="{where}a program may compute for {value} s: look for a loop that does not end, or do less in one run",
    ),
    FailureClass(
        name="limit.memory_mb",
        when="the memory limit was exceeded",
        status=_LIMITED,
        limit="memory_mb",
        hint=(
            "{where}a program has {value} MB: work through the data in parts, keep only the fields that are needed, "
            "write the rest to a file"
        ),
    ),
    FailureClass(
        name="limit.processes",
        when="too many threads or processes were started",
        status=_LIMITED,
        limit="processes",
        hint=(
            "{value} threads and processes are allowed at once: tool calls need none, await asyncio.gather(*calls) makes "
            "them at the same time"
        ),
    ),
    FailureClass(
        name="limit.open_files",
        when="too many files were open at once",
        status=_LIMITED,
        limit="open_files",
        hint="{value} files may be open at once: close them, with `with open(...) as file:`",
    ),
    FailureClass(
        name="limit.file_mb",
        when="a file became too large",
        status=_LIMITED,
        limit="file_mb",
        hint="one file may have {value} MB: write several files, or less",
    ),
    FailureClass(
        name="limit.workspace_mb",
        when="the files became too large",
        status=_LIMITED,
        limit="workspace_mb",
        hint="all files together may have {value} MB: delete what is no longer needed, write less",
    ),
    FailureClass(
        name="limit.workspace_files",
        when="there were too many files",
        status=_LIMITED,
        limit="workspace_files",
        hint="there may be {value} files: write rows into one file instead of a file per row",
    ),
    FailureClass(
        name="limit.result_bytes",
        when="the result was too large",
        status=_LIMITED,
        limit="result_bytes",
        hint="the last expression is too large to be returned: return a summary, and write the rest to a file in a session",
    ),
    FailureClass(
        name="limit.calls",
        when="the program made too many calls",
        status=_LIMITED,
        limit="calls",
        hint=(
            "a run may make {value} calls ({calls_made}): ask for more per call (filters, larger pages), or go on in another run"
        ),
    ),
    FailureClass(
        name="limit.call_bytes",
        when="the results of calls were too large together",
        status=_LIMITED,
        limit="call_bytes",
        hint=(
            "results of one run may have {value} bytes together ({calls_made}): ask for fewer fields or rows, or go on "
            "in another run"
        ),
    ),
    FailureClass(
        name="limit.approvals",
        when="too many questions wait for a person",
        status=_LIMITED,
        text=r"approv|question",
        hint=(
            "nothing that needs approval was done: have a person decide what waits (`gristmill approvals`), then resume this run"
        ),
    ),
    FailureClass(
        name="output.cut",
        when="a program printed more than is kept",
        status=frozenset({"ok"}),
        needs=("output_cut",),
        hint="more was printed than is kept: print counts and the first rows, write the rest to a file",
    ),
    FailureClass(
        name="crash.native",
        when="the interpreter crashed",
        status=frozenset({"crashed"}),
        text=r"SIGSEGV|SIGBUS|SIGILL|SIGFPE|SIGABRT|SIGSYS",
        hint=(
            "the interpreter itself crashed, usually in ctypes or a compiled package: do it in plain Python, or with "
            "less data at once"
        ),
    ),
    FailureClass(
        name="crash.exit",
        when="the program ended its own process",
        status=frozenset({"crashed"}),
        text=r"left with exit code|SIGKILL|SIGTERM",
        hint="the program ended its own process: leave out os._exit, os.kill and os.abort, a program just ends",
    ),
)

ERROR_FAILURES = (
    FailureClass(
        name="session.unknown",
        when="a session handle is given that does not exist, was deleted or has expired",
        status=_ERROR,
        errors=frozenset({"not_found.session"}),
        hint='a handle cannot be chosen: pass session="new", then the handle that comes back; without session nothing is kept',
    ),
    FailureClass(
        name="resume.unknown",
        when="a run is resumed of which nothing is kept",
        status=_ERROR,
        errors=frozenset({"not_found"}),
        text=r"execution|run",
        hint="resume takes the id of an earlier run, as its answer gave it; to run a program, pass code alone",
    ),
    FailureClass(
        name="search.unknown_server",
        when="a search names a server that is not connected",
        status=_ERROR,
        errors=frozenset({"not_found"}),
        text=r"server",
        hint="leave server out to search all servers",
    ),
    FailureClass(
        name="arguments.context",
        when="a model passes `context` as an argument",
        status=_ERROR,
        errors=frozenset({"arguments"}),
        text=r"\bcontext\b: Extra",
        hint="context is passed by the application, not as an argument: programs read it as context.NAME",
    ),
    FailureClass(
        name="arguments.unknown",
        when="a tool of Gristmill's own gets an argument that it does not have",
        status=_ERROR,
        errors=frozenset({"arguments"}),
        text=r"Extra inputs",
        hint="pass only the arguments that are listed: execute_code runs Python as `code`, search_tools takes `query`",
    ),
    FailureClass(
        name="arguments.wrong",
        when="an argument of a tool of Gristmill's own is wrong or missing",
        status=_ERROR,
        errors=frozenset({"arguments"}),
        hint="execute_code takes the program as the text `code`; search_tools takes the text `query`",
    ),
    FailureClass(
        name="busy",
        when="too many runs are waiting",
        status=_ERROR,
        errors=frozenset({"limit.busy"}),
        hint="nothing was run: try again in a few seconds",
    ),
)
