"""Version 1: the tables of Gristmill 0.1.0, which created them without a version.

``IF NOT EXISTS``, because a store of 0.1.0 has all of them or only those that were needed so far.
"""

from gristmill.store.schema.migration import Migration

_APPROVALS = (
    """CREATE TABLE IF NOT EXISTS approvals (
        id TEXT PRIMARY KEY, root TEXT NOT NULL, execution TEXT NOT NULL, session TEXT, caller TEXT NOT NULL,
        tenant TEXT NOT NULL, created DOUBLE PRECISION NOT NULL, expires DOUBLE PRECISION NOT NULL, standing TEXT NOT NULL,
        plan TEXT NOT NULL, approved TEXT NOT NULL, decided_by TEXT, decided DOUBLE PRECISION)""",
    "CREATE INDEX IF NOT EXISTS approvals_root ON approvals (root)",
    "CREATE INDEX IF NOT EXISTS approvals_standing ON approvals (standing, created)",
    "CREATE INDEX IF NOT EXISTS approvals_caller ON approvals (tenant, caller, created)",
    """CREATE TABLE IF NOT EXISTS flow_sources (
        scope TEXT NOT NULL, tool TEXT NOT NULL, at DOUBLE PRECISION NOT NULL, PRIMARY KEY (scope, tool))""",
)
_RUNS = (
    """CREATE TABLE IF NOT EXISTS runs (
        id TEXT PRIMARY KEY, root TEXT NOT NULL, session TEXT, caller TEXT NOT NULL, tenant TEXT NOT NULL, code BYTEA NOT NULL,
        status TEXT NOT NULL, created DOUBLE PRECISION NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS runs_root ON runs (root, created)",
    """CREATE TABLE IF NOT EXISTS journal (
        root TEXT NOT NULL, hash TEXT NOT NULL, occurrence INTEGER NOT NULL, tool TEXT NOT NULL, reads INTEGER NOT NULL,
        arguments TEXT NOT NULL, state TEXT NOT NULL, attempt INTEGER NOT NULL, value BYTEA, at DOUBLE PRECISION NOT NULL,
        PRIMARY KEY (root, hash, occurrence))""",
    "CREATE INDEX IF NOT EXISTS journal_at ON journal (at)",
    """CREATE TABLE IF NOT EXISTS masks (
        scope TEXT NOT NULL, placeholder TEXT NOT NULL, value BYTEA NOT NULL, at DOUBLE PRECISION NOT NULL,
        PRIMARY KEY (scope, placeholder))""",
    """CREATE TABLE IF NOT EXISTS outcomes (
        id TEXT PRIMARY KEY, tenant TEXT NOT NULL, caller TEXT NOT NULL, at DOUBLE PRECISION NOT NULL, outcome BYTEA NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS outcomes_at ON outcomes (at)",
)
_AUDIT = (
    """CREATE TABLE IF NOT EXISTS audit (
        seq INTEGER PRIMARY KEY, time REAL NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, parent TEXT, tenant TEXT NOT NULL,
        session TEXT, caller TEXT, tool TEXT, status TEXT, record TEXT NOT NULL, hash TEXT NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS audit_id ON audit (id)",
    "CREATE INDEX IF NOT EXISTS audit_parent ON audit (parent)",
    "CREATE INDEX IF NOT EXISTS audit_kind ON audit (kind, seq)",
    "CREATE INDEX IF NOT EXISTS audit_session ON audit (session, seq)",
    """CREATE TABLE IF NOT EXISTS audit_anchors (
        name TEXT PRIMARY KEY, seq INTEGER NOT NULL, hash TEXT NOT NULL, signer TEXT NOT NULL, mac TEXT NOT NULL)""",
    "CREATE TABLE IF NOT EXISTS audit_writers (writer TEXT PRIMARY KEY, batch INTEGER NOT NULL)",
)
_SESSIONS = (
    """CREATE TABLE IF NOT EXISTS sessions (
        handle TEXT PRIMARY KEY, tenant TEXT NOT NULL, caller TEXT NOT NULL, name TEXT NOT NULL,
        created DOUBLE PRECISION NOT NULL, used DOUBLE PRECISION NOT NULL, ended DOUBLE PRECISION)""",
    "CREATE INDEX IF NOT EXISTS sessions_by_name ON sessions (tenant, name)",
    """CREATE TABLE IF NOT EXISTS session_values (
        session TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, size INTEGER NOT NULL,
        changed DOUBLE PRECISION NOT NULL, PRIMARY KEY (session, name))""",
    """CREATE TABLE IF NOT EXISTS skills (
        tenant TEXT NOT NULL, level TEXT NOT NULL, owner TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL,
        source TEXT NOT NULL, tests TEXT, requires TEXT NOT NULL, tested INTEGER NOT NULL, caller TEXT NOT NULL,
        created DOUBLE PRECISION NOT NULL, hash TEXT NOT NULL, seal TEXT NOT NULL,
        PRIMARY KEY (tenant, level, owner, name, version))""",
)
_SPENT = (
    """CREATE TABLE IF NOT EXISTS spent_executions (
        execution TEXT PRIMARY KEY, tenant TEXT NOT NULL, session TEXT, caller TEXT NOT NULL, at DOUBLE PRECISION NOT NULL,
        ms DOUBLE PRECISION NOT NULL, status TEXT NOT NULL, code_tokens INTEGER NOT NULL, code_bytes INTEGER NOT NULL,
        returned_tokens INTEGER NOT NULL, returned_bytes INTEGER NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS spent_calls (
        execution TEXT NOT NULL, position INTEGER NOT NULL, tenant TEXT NOT NULL, session TEXT, caller TEXT NOT NULL,
        tool TEXT NOT NULL, at DOUBLE PRECISION NOT NULL, ms DOUBLE PRECISION NOT NULL, status TEXT NOT NULL,
        argument_tokens INTEGER NOT NULL, argument_bytes INTEGER NOT NULL, result_tokens INTEGER NOT NULL,
        result_bytes INTEGER NOT NULL, PRIMARY KEY (execution, position))""",
    """CREATE TABLE IF NOT EXISTS spent_searches (
        at DOUBLE PRECISION NOT NULL, tenant TEXT NOT NULL, session TEXT, caller TEXT NOT NULL, query TEXT NOT NULL,
        found TEXT NOT NULL, query_tokens INTEGER NOT NULL, answer_tokens INTEGER NOT NULL, in_code INTEGER NOT NULL)""",
    "CREATE TABLE IF NOT EXISTS spent_definitions (tool TEXT PRIMARY KEY, tokens INTEGER NOT NULL)",
)
_SERVICE = (
    """CREATE TABLE IF NOT EXISTS tokens (
        id TEXT PRIMARY KEY, digest TEXT NOT NULL, caller TEXT NOT NULL, tenant TEXT NOT NULL, scopes TEXT NOT NULL,
        created DOUBLE PRECISION NOT NULL, expires DOUBLE PRECISION, revoked DOUBLE PRECISION)""",
    "CREATE TABLE IF NOT EXISTS instances (id TEXT PRIMARY KEY, seen DOUBLE PRECISION NOT NULL)",
    "CREATE TABLE IF NOT EXISTS chores (name TEXT PRIMARY KEY, at DOUBLE PRECISION NOT NULL)",
)

FIRST = Migration(
    number=1, name="first", statements=(*_APPROVALS, *_RUNS, *_AUDIT, *_SESSIONS, *_SPENT, *_SERVICE)
)  # fmt: skip
