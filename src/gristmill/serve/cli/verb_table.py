"""Lists every verb of the command line with its module and its line in the help, so that only the chosen verb is imported."""

from typing import NamedTuple

BEGIN, TOOLS, CODE, OPERATE = "Get started", "Tools", "Code", "Operate"


class Verb(NamedTuple):
    """One verb: its heading in the help, its module, and its function there (None: the module has a group of verbs)."""

    name: str
    heading: str
    module: str
    function: str | None
    summary: str
    """The first sentence of its help; a test compares them."""


# fmt: off
VERBS = (
    Verb(
        "init", BEGIN, "setup.init", "init",
        "Find the MCP servers of the clients on this machine, and write the ones you pick into gristmill.toml.",
    ),
    Verb(
        "import", BEGIN, "setup.import_servers", "import_servers",
        "Copy the servers of another client into gristmill.toml: Claude, Cursor, VS Code, Windsurf, Codex, Gemini CLI, "
        "Zed or Goose.",
    ),
    Verb(
        "install", BEGIN, "setup.install", "install",
        "Add Gristmill to a client's configuration.",
    ),
    Verb(
        "uninstall", BEGIN, "setup.install", "uninstall",
        "Remove Gristmill from a client's configuration.",
    ),
    Verb(
        "serve", BEGIN, "operate.serve", "serve",
        "Serve two MCP tools, `search_tools` and `execute_code`, to any MCP client; with `--http` the whole service.",
    ),
    Verb(
        "doctor", BEGIN, "setup.doctor", "doctor",
        "Check the configuration, the state folder, the store, each server and the sandbox; say how to fix what is broken.",
    ),
    Verb(
        "demo", BEGIN, "use.demo", "demo",
        "See what Gristmill does: a program joins 2,000 rows from two tools, and only a few lines go back to the model.",
    ),
    Verb(
        "chat", BEGIN, "use.chat_verb", "chat",
        "Talk with a model that finds your tools, writes programs and runs them in the sandbox.",
    ),
    Verb(
        "search", TOOLS, "use.search", "search",
        "Find the tools that fit a question, shown as a model sees them: imports, signatures, a line of documentation.",
    ),
    Verb(
        "tools", TOOLS, "use.tools", None,
        "Show every server with its state and the tokens that its tools would cost a model, or the tools of one server.",
    ),
    Verb(
        "describe", TOOLS, "use.describe", "describe",
        "Show the full signature, types and documentation of one or more tools.",
    ),
    Verb(
        "logs", TOOLS, "operate.logs_verb", "logs",
        "Show what the program of a server wrote to standard error, in every gateway that ran it.",
    ),
    Verb(
        "login", TOOLS, "setup.login", "login",
        "Log in to a server with OAuth: prints an address to visit, and waits until you have logged in there.",
    ),
    Verb(
        "logout", TOOLS, "setup.login", "logout",
        "Delete the stored tokens of a server.",
    ),
    Verb(
        "secrets", TOOLS, "setup.secrets_verb", None,
        "Store, list and delete the secrets that the configuration refers to.",
    ),
    Verb(
        "export", TOOLS, "use.export", "export",
        "Write the tools as JSON for a provider's API, ready to be found by its tool search and called from its code.",
    ),
    Verb(
        "run", CODE, "use.run", "run",
        "Run a program in Python or TypeScript in the sandbox and print its outcome.",
    ),
    Verb(
        "shell", CODE, "use.shell", "shell",
        "Open a Python shell in the sandbox: variables are kept between lines, tools can be imported, Tab completes.",
    ),
    Verb(
        "packages", CODE, "setup.packages", None,
        "Install the packages that programs may import (`sandbox.packages`).",
    ),
    Verb(
        "sessions", CODE, "operate.sessions", None,
        "List sessions, read and write their files, delete them.",
    ),
    Verb(
        "skills", CODE, "operate.skills", None,
        "Show, export, import and delete the functions that programs saved.",
    ),
    Verb(
        "stats", OPERATE, "operate.stats", "stats",
        "Show the tokens that executions cost, compared with direct calls and with search then call, and recommendations.",
    ),
    Verb(
        "dashboard", OPERATE, "operate.dashboard_verb", "dashboard",
        "Open the dashboard of a running service, signed in as the user of this machine, who may also approve.",
    ),
    Verb(
        "approvals", OPERATE, "operate.approvals_verb", None,
        "List the plans that wait for approval; show, approve or deny one.",
    ),
    Verb(
        "revert", OPERATE, "operate.revert_verb", "revert",
        "Undo what a failed execution wrote, as `policy.revert` says, after you have agreed to each call.",
    ),
    Verb(
        "audit", OPERATE, "operate.audit_verb", None,
        "Show, verify and export the record of every execution, call and refusal.",
    ),
    Verb(
        "tokens", OPERATE, "operate.tokens", None,
        "Create, list and revoke tokens for the HTTP service.",
    ),
    Verb(
        "rollout", OPERATE, "operate.rollout_verb", None,
        "Compare ways of working on real traffic, and move to the better one in stages.",
    ),
    Verb(
        "bench", OPERATE, "use.bench", "bench",
        "Measure a fresh run, a run in a kept session and a tool call, and compare them with `python -c` on this machine.",
    ),
)
# fmt: on
"""All verbs, in the order of the help page."""
