"""Failures of Python itself: names, awaiting, files, encodings, syntax."""

from gristmill.runtime.hints.failure_class import FailureClass

_NAME = frozenset({"NameError"})
_KEEP = 'pass session="new" once, then the handle that comes back'

NAME_FAILURES = (
    FailureClass(
        name="name.tool",
        when="a tool is called that was not imported",
        errors=_NAME,
        text=r"name '(?P<name>\w+)' is not defined",
        needs=("import_of_tool",),
        hint="{name} is a tool: import it first, {import_of_tool}",
    ),
    FailureClass(
        name="name.discovery",
        when="a function of Gristmill's own modules is called that was not imported",
        errors=_NAME,
        text=(
            r"name '(?P<name>search_tools|list_servers|list_tools|describe|call_mcp_tool|ToolError|skills"
            r"|session)' is not defined"
        ),
        needs=("import_of_own",),
        hint="write `{import_of_own}` first",
    ),
    FailureClass(
        name="name.javascript",
        when="a word of JavaScript or JSON is used",
        errors=_NAME,
        text=r"name '(?P<name>null|true|false|undefined|console|JSON|Math|require|fetch|NaN)' is not defined",
        hint="{name} is JavaScript: the program is Python (None, True, False, print(), json.dumps(), math.nan)",
    ),
    FailureClass(
        name="name.module",
        when="a module of the standard library is used that was not imported",
        errors=_NAME,
        text=r"name '(?P<name>\w+)' is not defined",
        needs=("standard_module",),
        hint="write `import {name}` first",
    ),
    FailureClass(
        name="name.earlier_run",
        when="a variable of an earlier run is used, without a session",
        errors=_NAME,
        text=r"name '(?P<name>\w+)' is not defined",
        session="without",
        needs=("earlier_program",),
        hint="{name} was made by an earlier program, and without a session nothing is kept: make it again in this program, or "
        + _KEEP,
    ),
    FailureClass(
        name="name.lost",
        when="a variable of a session is used that is gone",
        errors=_NAME,
        text=r"name '(?P<name>\w+)' is not defined",
        session="with",
        needs=("fresh_interpreter",),
        hint=(
            "this session has no variables now ({fresh_interpreter}): make {name} again; files in the working directory "
            "are still there"
        ),
    ),
    FailureClass(
        name="name.without_session",
        when="a name is used that the program does not define, without a session",
        errors=_NAME,
        text=r"name '(?P<name>\w+)' is not defined",
        session="without",
        hint="{name} is not defined in this program, and nothing of earlier programs is kept without a session: define it, or "
        + _KEEP,
    ),
    FailureClass(
        name="name.in_session",
        when="a name is used that the session does not have",
        errors=_NAME,
        text=r"name '(?P<name>\w+)' is not defined",
        session="with",
        hint="this session has no {name}: a program that failed keeps only what it had made before; define it in this program",
    ),
    FailureClass(
        name="name.too_early",
        when="a local variable is used before it has a value",
        errors=frozenset({"UnboundLocalError"}),
        hint=(
            "the function assigns to this name somewhere, so it is local everywhere in it: pass it as an argument, or "
            "declare it global"
        ),
    ),
)

ASYNC_FAILURES = (
    FailureClass(
        name="async.gather",
        when="`await` is missing before `asyncio.gather`",
        errors=frozenset({"RuntimeError", "TypeError", "AttributeError"}),
        text=r"no (?:current|running) event loop|_GatheringFuture|'Future' object",
        code=r"\b(?:gather|create_task|ensure_future|wait_for)\(",
        hint=(
            "write `await` before asyncio.gather(...) and the like: results = await asyncio.gather(*calls); await works "
            "at the top level"
        ),
    ),
    FailureClass(
        name="async.coroutine",
        when="the result of an async function is used without `await`",
        errors=frozenset({"TypeError", "AttributeError"}),
        text=r"'coroutine'|'PendingCall' object|'Task' object|'async_generator'",
        hint="this call was not awaited: write `await` before it (`[await f(i) for i in ids]`, or await asyncio.gather(*calls))",
    ),
    FailureClass(
        name="async.loop_running",
        when="an event loop is started inside the running one",
        errors=frozenset({"RuntimeError"}),
        text=r"cannot be called from a running event loop|event loop is already running|while another loop is running",
        hint="an event loop runs already: write `await main()` at the top level in place of asyncio.run(main())",
    ),
    FailureClass(
        name="async.outside",
        when="`await` stands in a function that is not async",
        errors=frozenset({"SyntaxError"}),
        text=r"'(?:await|async for|async with)' outside (?:async )?function|asynchronous comprehension outside",
        hint=(
            "await works at the top level and in `async def`: make the function async and await it, or call the tool "
            "without await"
        ),
    ),
    FailureClass(
        name="async.timeout",
        when="a time limit that the program set itself has passed",
        errors=frozenset({"TimeoutError", "CancelledError"}),
        hint="the program's own time limit has passed: leave it out, calls have limits of their own, or ask for less at once",
    ),
)

FILE_FAILURES = (
    FailureClass(
        name="file.read_only",
        when="a program writes outside of its folders",
        errors=frozenset({"OSError", "PermissionError"}),
        text=r"Read-only file system: '(?P<path>[^']*)'|Read-only file system",
        hint="files can be written in the working directory (open('name.csv', 'w')) and in /tmp only; the rest is read-only",
    ),
    FailureClass(
        name="file.permission",
        when="a program opens a file that it may not open",
        errors=frozenset({"PermissionError"}),
        text=r"(?:Permission denied|Operation not permitted): '(?P<path>[^']*)'",
        hint="{path} is not for programs: work with files in the working directory and in /tmp",
    ),
    FailureClass(
        name="file.write_outside",
        when="a program writes to a folder of the user's machine",
        errors=frozenset({"FileNotFoundError", "NotADirectoryError"}),
        text=r"No such file or directory: '(?P<path>/[^']*|[A-Z]:\\\\[^']*|~[^']*)'",
        code=r"""open\(\s*f?["'](?:/|~|[A-Z]:)[^"']*["']\s*,\s*(?:mode\s*=\s*)?["'][wax]|\.write_(?:text|bytes)\(""",
        hint="{path} cannot be written, folders of the host are not here: write to the working directory, open('name.csv', 'w')",
    ),
    FailureClass(
        name="file.of_host",
        when="a program opens a file of the user's machine",
        errors=frozenset({"FileNotFoundError", "NotADirectoryError"}),
        text=r"No such file or directory: '(?P<path>/[^']*|[A-Z]:\\\\[^']*|~[^']*)'",
        hint=(
            "{path} is not in the sandbox, which does not see the files of the host: ask the user, or get the content "
            "with a tool; {connected}"
        ),
    ),
    FailureClass(
        name="file.gone",
        when="a file of an earlier run is opened, without a session",
        errors=frozenset({"FileNotFoundError"}),
        text=r"No such file or directory: '(?P<path>[^']*)'",
        session="without",
        hint=(
            "there is no {path}: without a session the working directory starts empty and is removed at the end; "
            "write the file in this program, or " + _KEEP
        ),
    ),
    FailureClass(
        name="file.missing",
        when="a file is opened that the session does not have",
        errors=frozenset({"FileNotFoundError"}),
        text=r"No such file or directory: '(?P<path>[^']*)'",
        session="with",
        hint="there is no {path} in this session's working directory: os.listdir() shows what there is",
    ),
    FailureClass(
        name="file.directory",
        when="a folder is opened as a file",
        errors=frozenset({"IsADirectoryError", "NotADirectoryError", "FileExistsError"}),
        hint=(
            "a folder and a file were mixed up here: os.listdir() shows what there is, os.makedirs(name, exist_ok=True) "
            "makes a folder once"
        ),
    ),
    FailureClass(
        name="file.database",
        when="a database file cannot be opened",
        errors=frozenset({"OperationalError"}),
        text=r"unable to open database file|readonly database",
        hint="a database file can be made in the working directory only; databases of the host are reached by tools; {connected}",
    ),
    FailureClass(
        name="text.encode",
        when="a text is written in an encoding that lacks its characters",
        errors=frozenset({"UnicodeEncodeError"}),
        hint='pass encoding="utf-8" to open() and encode()',
    ),
    FailureClass(
        name="text.decode",
        when="bytes are read as text that are no UTF-8",
        errors=frozenset({"UnicodeDecodeError"}),
        hint='these bytes are not UTF-8 text: open binary files with "rb", texts with encoding="latin-1" or errors="replace"',
    ),
    FailureClass(
        name="file.left",
        when="a program leaves files behind, without a session",
        status=frozenset({"ok"}),
        session="without",
        needs=("left_files",),
        hint="{left_files} will be gone: without a session files are removed at the end; to keep them " + _KEEP,
    ),
)

SYNTAX_FAILURES = (
    FailureClass(
        name="python.recursion",
        when="a function calls itself too often",
        errors=frozenset({"RecursionError"}),
        hint="the function calls itself without end or too deep (1,000 levels): check where it stops, or use a loop",
    ),
    FailureClass(
        name="mask.placeholder",
        when="a program that failed contains the placeholder of a masked value",
        errors=frozenset({"ValueError", "KeyError", "IndexError", "ToolError", "ToolFailed", "StopIteration"}),
        code=r"(?P<mask><[A-Z][A-Z_]*_[a-z]{10}>)",
        hint=(
            "{mask} stands for a masked value in what you were shown: pass it to tools and compare with it as it is, do "
            "not take it apart"
        ),
    ),
    FailureClass(
        name="python.indentation",
        when="lines are not indented as Python wants it",
        errors=frozenset({"IndentationError", "TabError"}),
        hint="send the program again with four spaces per level, no tabs, and nothing in front of its first line",
    ),
    FailureClass(
        name="python.syntax",
        when="the program is not Python, and could not be repaired",
        errors=frozenset({"SyntaxError"}),
        needs=("python_program",),
        hint=(
            "nothing was run: send plain Python text, whole, without Markdown, JSON or prose around it; check brackets "
            "and quotes at that line"
        ),
    ),
)
