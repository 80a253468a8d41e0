"""Version 3: a session names its generation, ends are told to every process, and the bytes of each tenant are counted.

A session of an older version has the generation ``''``: its folder is the one that its name alone led to.
"""

from gristmill.store.schema.migration import Migration

_SESSIONS = (
    "ALTER TABLE sessions ADD COLUMN generation TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE sessions ADD COLUMN ending TEXT",
    "ALTER TABLE sessions ADD COLUMN life DOUBLE PRECISION",
    "CREATE INDEX sessions_by_life ON sessions (ended, life) WHERE life IS NOT NULL",
    "CREATE INDEX sessions_by_tenant ON sessions (tenant, ended, used)",
    "CREATE INDEX sessions_by_caller ON sessions (tenant, caller, ended, used)",
    """CREATE TABLE session_endings (
        handle TEXT NOT NULL, process TEXT NOT NULL, PRIMARY KEY (handle, process))""",
    "CREATE TABLE store_facts (name TEXT PRIMARY KEY, fact TEXT NOT NULL)",
)
_BYTES = (
    """CREATE TABLE tenant_bytes (
        tenant TEXT NOT NULL, kind TEXT NOT NULL, bytes BIGINT NOT NULL, PRIMARY KEY (tenant, kind))""",
    "ALTER TABLE session_values ADD COLUMN tenant TEXT NOT NULL DEFAULT ''",
    """UPDATE session_values SET tenant = coalesce(
        (SELECT sessions.tenant FROM sessions WHERE sessions.handle = session_values.session), '')""",
    "INSERT INTO tenant_bytes SELECT tenant, 'values', sum(size) FROM session_values GROUP BY tenant",
    """CREATE TABLE skill_heads (
        tenant TEXT NOT NULL, level TEXT NOT NULL, owner TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL,
        summary TEXT NOT NULL, PRIMARY KEY (tenant, level, owner, name))""",
    """INSERT INTO skill_heads SELECT tenant, level, owner, name, max(version), '' FROM skills
        GROUP BY tenant, level, owner, name""",
    "ALTER TABLE skills ADD COLUMN size INTEGER NOT NULL DEFAULT 0",
    "UPDATE skills SET size = length(source) + coalesce(length(tests), 0)",
    "INSERT INTO tenant_bytes SELECT tenant, 'skills', sum(size) FROM skills GROUP BY tenant",
    "ALTER TABLE outcomes ADD COLUMN size INTEGER NOT NULL DEFAULT 0",
    "UPDATE outcomes SET size = length(outcome)",
    "INSERT INTO tenant_bytes SELECT tenant, 'outcomes', sum(size) FROM outcomes GROUP BY tenant",
    "CREATE INDEX outcomes_by_tenant ON outcomes (tenant, at)",
    "ALTER TABLE approvals ADD COLUMN size INTEGER NOT NULL DEFAULT 0",
    "UPDATE approvals SET size = length(plan)",
    "INSERT INTO tenant_bytes SELECT tenant, 'approvals', sum(size) FROM approvals GROUP BY tenant",
)

SESSION_GENERATIONS = Migration(number=3, name="session_generations", statements=(*_SESSIONS, *_BYTES))
