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
    Verb("init", BEGIN, "verbs.setup.init", "init"),
    Verb("import", BEGIN, "verbs.setup.import_servers", "import_servers"),
    Verb("install", BEGIN, "verbs.setup.install", "install"),
    Verb("uninstall", BEGIN, "verbs.setup.install", "uninstall"),
    Verb("serve", BEGIN, "verbs.operate.serve", "serve"),
    Verb("doctor", BEGIN, "verbs.setup.doctor", "doctor"),
    Verb("demo", BEGIN, "verbs.use.demo", "demo"),
    Verb("search", TOOLS, "verbs.use.search", "search"),
    Verb("tools", TOOLS, "verbs.use.tools"),
    Verb("describe", TOOLS, "verbs.use.describe", "describe"),
    Verb("login", TOOLS, "verbs.setup.login", "login"),
    Verb("logout", TOOLS, "verbs.setup.login", "logout"),
    Verb("export", TOOLS, "verbs.use.export", "export"),
    Verb("run", CODE, "verbs.use.run", "run"),
    Verb("shell", CODE, "verbs.use.shell", "shell"),
    Verb("packages", CODE, "verbs.setup.packages"),
    Verb("sessions", CODE, "verbs.operate.sessions"),
    Verb("skills", CODE, "verbs.operate.skills"),
    Verb("stats", LOOK, "verbs.operate.stats", "stats"),
    Verb("approvals", LOOK, "verbs.operate.approvals_verb"),
    Verb("audit", LOOK, "verbs.operate.audit_verb"),
    Verb("tokens", LOOK, "verbs.operate.tokens"),
    Verb("bench", LOOK, "verbs.use.bench", "bench"),
)
"""In the order of the help."""
