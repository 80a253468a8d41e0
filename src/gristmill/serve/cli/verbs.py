"""Every verb of the command line and where it lives, so that only the one that is used is loaded."""

from gristmill.values import dataclass

BEGIN, TOOLS, CODE, LOOK = "Begin", "Tools", "Code", "Look after it"


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb: its heading in the help, its file, and the function there; without one the file has verbs of its own."""

    name: str
    heading: str
    module: str
    function: str | None = None


VERBS = (
    Verb("init", BEGIN, "init", "init"),
    Verb("import", BEGIN, "import_", "import_servers"),
    Verb("install", BEGIN, "install", "install"),
    Verb("uninstall", BEGIN, "install", "uninstall"),
    Verb("serve", BEGIN, "serve", "serve"),
    Verb("doctor", BEGIN, "doctor", "doctor"),
    Verb("demo", BEGIN, "demo", "demo"),
    Verb("search", TOOLS, "search", "search"),
    Verb("tools", TOOLS, "tools"),
    Verb("describe", TOOLS, "describe", "describe"),
    Verb("login", TOOLS, "login", "login"),
    Verb("logout", TOOLS, "login", "logout"),
    Verb("export", TOOLS, "export", "export"),
    Verb("run", CODE, "run", "run"),
    Verb("shell", CODE, "shell", "shell"),
    Verb("packages", CODE, "packages"),
    Verb("sessions", CODE, "sessions"),
    Verb("skills", CODE, "skills"),
    Verb("stats", LOOK, "stats", "stats"),
    Verb("approvals", LOOK, "approvals"),
    Verb("audit", LOOK, "audit"),
    Verb("tokens", LOOK, "tokens"),
    Verb("bench", LOOK, "bench", "bench"),
)
"""In the order of the help."""
