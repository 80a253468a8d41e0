"""Version 8: what is asked of a long history is found by an index, so that an answer takes no longer as the history grows."""

from gristmill.store.schema.migration import Migration

HISTORY_INDEXES = Migration(
    number=8,
    name="history_indexes",
    statements=(
        "CREATE INDEX audit_tenant ON audit (tenant, seq)",
        "CREATE INDEX audit_caller ON audit (tenant, caller, seq)",
        "CREATE INDEX audit_trouble ON audit (tenant, status, seq) WHERE status <> 'ok'",
        "CREATE INDEX audit_tool ON audit (tool, seq)",
        "CREATE INDEX audit_time ON audit (time)",
        "CREATE INDEX spent_executions_at ON spent_executions (tenant, at)",
        "CREATE INDEX spent_executions_session ON spent_executions (tenant, session, at)",
        "CREATE INDEX spent_calls_at ON spent_calls (tenant, at)",
        "CREATE INDEX spent_calls_session ON spent_calls (tenant, session, at)",
        "CREATE INDEX spent_searches_at ON spent_searches (tenant, at)",
        "CREATE INDEX sessions_by_generation ON sessions (generation)",
    ),
)
