"""Failures of programs that reach for what a sandbox does not have: the network, other programs, packages, a person, a screen."""

from gristmill.runtime.hints.failure_class import FailureClass

_FAILED_OR_REFUSED = frozenset({"failed", "refused"})
_NO_FILE = frozenset({"FileNotFoundError", "PermissionError"})

NETWORK_FAILURES = (
    FailureClass(
        name="network.mail",
        when="a program sends or fetches mail",
        errors=frozenset({"gaierror", "PermissionError", "OSError", "ConnectionRefusedError"}),
        code=r"\b(?:smtplib|imaplib|poplib)\b",
        hint="mail cannot be sent or read from the sandbox, which has no network: {instead}",
    ),
    FailureClass(
        name="network.listen",
        when="a program opens a port",
        errors=frozenset({"PermissionError", "OSError"}),
        text=r"Errno 13\] Permission denied$|Operation not permitted$",
        code=r"\.bind\(|\.listen\(|\b(?:HTTPServer|TCPServer|start_server|create_server)\(",
        hint=(
            "a program cannot open a port: there is no network, and nothing of it runs on when it has ended; return the "
            "data instead"
        ),
    ),
    FailureClass(
        name="network.dns",
        when="a host name is looked up",
        errors=frozenset({"gaierror", "herror"}),
        hint="there is no network in the sandbox, so no host name can be looked up: {instead}",
    ),
    FailureClass(
        name="network.urllib",
        when="`urllib` opens an address",
        errors=frozenset({"URLError", "HTTPError"}),
        text=r"urlopen error|urllib\.error|HTTP Error",
        hint="there is no network in the sandbox, urllib reaches nothing: {instead}",
    ),
    FailureClass(
        name="network.requests",
        when="`requests` or `urllib3` opens an address",
        errors=frozenset(
            {
                "ConnectionError",
                "ConnectTimeout",
                "SSLError",
                "ProxyError",
                "NewConnectionError",
                "MaxRetryError",
                "NameResolutionError",
            }
        ),
        text=r"HTTPS?Connection|Max retries|Failed to establish|NameResolution",
        hint="there is no network in the sandbox, requests reaches nothing: {instead}",
    ),
    FailureClass(
        name="network.httpx",
        when="`httpx` or `aiohttp` opens an address",
        errors=frozenset({"ConnectError", "ConnectTimeout", "ClientConnectorError", "ClientConnectorDNSError"}),
        hint="there is no network in the sandbox, HTTP clients reach nothing: {instead}",
    ),
    FailureClass(
        name="network.socket",
        when="a socket is opened",
        errors=frozenset({"PermissionError", "OSError", "ConnectionRefusedError", "TimeoutError"}),
        text=r"Errno (?:1|13|97|101|111|113)\] [\w ]+$|Connect call failed",
        code=r"\b(?:socket|http\.client|ftplib|telnetlib|urllib|xmlrpc|open_connection|create_connection|ssl)\b",
        hint="there is no network in the sandbox, no socket can be opened, not even to localhost: {instead}",
    ),
)

PROCESS_FAILURES = (
    FailureClass(
        name="process.pip",
        when="a program installs a package",
        errors=frozenset({"FileNotFoundError", "CalledProcessError", "ModuleNotFoundError", "ImportError"}),
        text=r"'(?:pip3?|uv|conda|poetry)'|'-m', 'pip'|No module named '?(?:pip|ensurepip)\b",
        hint=(
            "a program cannot install packages; {packages}. Do without, or have the operator add the package: "
            'packages = ["NAME"] under [sandbox] in gristmill.toml, then `gristmill packages install`'
        ),
    ),
    FailureClass(
        name="process.fetch",
        when="a program starts `curl` or `wget`",
        errors=_NO_FILE,
        text=r"No such file or directory: '(?P<command>curl|wget|ssh|scp|rsync|ping)'",
        hint="there is no {command} in the sandbox, and no network: {instead}",
    ),
    FailureClass(
        name="process.git",
        when="a program starts `git`, `gh`, `docker` or the like",
        errors=_NO_FILE,
        text=r"No such file or directory: '(?P<command>git|gh|docker|kubectl|aws|gcloud|az|psql|mysql|sqlite3|node|npm)'",
        hint="there is no {command} in the sandbox; what it reaches is reached by tools: {instead}",
    ),
    FailureClass(
        name="process.shell",
        when="a program starts a shell",
        errors=_NO_FILE,
        text=r"No such file or directory: '(?P<command>/bin/sh|(?:/bin/|/usr/bin/)?(?:ba|z)?sh)'",
        hint="there is no shell in the sandbox, only Python: use pathlib, shutil, re and the like instead of shell commands",
    ),
    FailureClass(
        name="process.command",
        when="a program starts another program",
        errors=_NO_FILE,
        text=r"No such file or directory: '(?P<command>[\w.+-]+)'",
        code=r"\b(?:subprocess|Popen|os\.exec|os\.spawn|posix_spawn|create_subprocess)",
        hint=(
            "there is no {command} in the sandbox, which has no programs but Python: do it in Python "
            "(os.listdir for ls, open for cat, shutil for cp and mv, re for grep)"
        ),
    ),
    FailureClass(
        name="process.os_system",
        when="`os.system` finds no shell, and the program goes on",
        status=frozenset({"ok"}),
        code=r"\bos\.system\(",
        hint="os.system runs nothing here: there is no shell in the sandbox, only Python; use its modules instead",
    ),
)

PACKAGE_FAILURES = (
    FailureClass(
        name="package.server",
        when="a tool server is imported as if it were a package",
        status=_FAILED_OR_REFUSED,
        text=r"^(?:line \d+, column \d+: )?(?P<module>\w{1,80}) is not installed|No module named '(?P<named>\w+)'",
        needs=("server_module",),
        hint="{server_module} is a tool server: write `from servers import {server_module}`",
    ),
    FailureClass(
        name="package.mcp_sdk",
        when="an MCP or agent library is imported to call tools",
        status=_FAILED_OR_REFUSED,
        text=(
            r"(?:^|: |named ')(?P<module>mcp|fastmcp|langchain\w*|mcp_sdk|mcp_use|modelcontextprotocol|anthropic"
            r"|openai)(?: is not inst|')"
        ),
        hint="no client library is needed to call tools: they are functions, {example_import}; search_tools finds them",
    ),
    FailureClass(
        name="package.network",
        when="a package that only makes sense with a network is imported",
        status=_FAILED_OR_REFUSED,
        text=(
            r"(?:^|: |named ')(?P<module>requests|httpx|aiohttp|urllib3|websockets?|httplib2|pycurl|boto3|botocore|selenium"
            r"|playwright|paramiko|psycopg2?|asyncpg|pymysql|redis|pymongo|feedparser|yfinance|tweepy|github|slack_sdk)"
            r"(?: is not inst|')"
        ),
        hint="{module} would be of no use: there is no network in the sandbox; {instead}",
    ),
    FailureClass(
        name="package.known",
        when="a well-known package is missing for which the standard library has a substitute",
        status=_FAILED_OR_REFUSED,
        text=r"(?:^|: )(?P<module>\w{1,80}) is not installed in the sandbox|No module named '(?P<named>\w+)[.\w]*'",
        needs=("substitute", "package"),
        hint=(
            "{package} is not installed ({packages}): {substitute}, or have the operator add it: "
            'packages = ["{package}"] under [sandbox] in gristmill.toml, then `gristmill packages install`'
        ),
    ),
    FailureClass(
        name="package.missing",
        when="a package is missing",
        status=_FAILED_OR_REFUSED,
        text=r"(?:^|: )(?P<module>\w{1,80}) is not installed in the sandbox; do|No module named '(?P<named>\w+)[.\w]*'",
        needs=("package",),
        hint=(
            "{package} is not installed ({packages}): do without it, or have the operator add it: "
            'packages = ["{package}"] under [sandbox] in gristmill.toml, then `gristmill packages install`'
        ),
    ),
    FailureClass(
        name="package.not_allowed",
        when="the operator's rules refuse a module or a name",
        status=frozenset({"refused"}),
        text=r"guard\.allowed_modules|guard\.denied_names|house rules",
        hint=(
            "the operator's rules refuse this program, whatever it does: write it without what the lines name; there is "
            "no way around it"
        ),
    ),
)

INTERACTION_FAILURES = (
    FailureClass(
        name="input.asked",
        when="a program asks for input",
        errors=frozenset({"EOFError"}),
        text=r"EOF when reading a line",
        hint=(
            "nobody is there to answer input(): put the values into the program, or read what the caller passed, as context.NAME"
        ),
    ),
    FailureClass(
        name="program.exit",
        when="a program ends itself with an exit code or a text",
        errors=frozenset({"SystemExit"}),
        hint=(
            "sys.exit with a text or another number than 0 counts as a failure: let the program end, or `return` a value "
            "to say how it went"
        ),
    ),
    FailureClass(
        name="screen.missing",
        when="a program opens a window",
        errors=frozenset({"TclError", "ModuleNotFoundError", "ImportError", "Error"}),
        text=r"init\.tcl|no display|\$DISPLAY|tkinter|libtk|Qt platform plugin",
        hint="there is no screen: return the data, or save an image to a file in the working directory and return its path",
    ),
    FailureClass(
        name="environment.missing",
        when="a program reads a key or a setting from the environment",
        errors=frozenset({"KeyError"}),
        code=r"os\.(?:environ\[|getenv)",
        text=r"KeyError: '(?P<key>[A-Z][A-Z0-9_]*)'",
        hint=(
            "there is no {key} in the sandbox: keys and settings of the host never enter it. Tools have their own credentials; "
            "call one instead; {connected}"
        ),
    ),
    FailureClass(
        name="context.missing",
        when="a program reads a value that its caller did not pass",
        errors=frozenset({"AttributeError", "KeyError"}),
        text=r"the caller passed no '(?P<key>\w+)'",
        hint=(
            "`context` holds what the caller passed beside the program, and {key} is not among it: it cannot be set from "
            "code; ask the user"
        ),
    ),
    FailureClass(
        name="context.read_only",
        when="a program changes `context`",
        errors=frozenset({"AttributeError", "TypeError"}),
        text=r"context is read-only",
        hint="use another name for values of your own: context holds what the caller passed, and stays as it is",
    ),
)
