"""Version 4: token accounts name their conversation, and what an execution claims is stored with it.

Older executions claim what the formula gives with the definitions that are known now: our own tools with the first execution of a
session, the definitions with the first that succeeded and called a tool.
"""

from gristmill.store.schema.migration import Migration

_STATEMENTS = (
    "ALTER TABLE spent_executions ADD COLUMN conversation TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE spent_executions ADD COLUMN definition_tokens INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE spent_executions ADD COLUMN surface_tokens INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE spent_searches ADD COLUMN conversation TEXT NOT NULL DEFAULT ''",
    "UPDATE spent_executions SET conversation = coalesce('session ' || session, 'execution ' || execution)",
    "UPDATE spent_searches SET conversation = coalesce('session ' || session, '')",
    "CREATE INDEX spent_by_conversation ON spent_executions (tenant, conversation, at)",
    """UPDATE spent_executions SET surface_tokens = 400 WHERE NOT EXISTS (
        SELECT 1 FROM spent_executions AS earlier WHERE earlier.tenant = spent_executions.tenant
        AND earlier.conversation = spent_executions.conversation AND (earlier.at < spent_executions.at
        OR (earlier.at = spent_executions.at AND earlier.execution < spent_executions.execution)))""",
    """UPDATE spent_executions SET definition_tokens = (SELECT coalesce(sum(tokens), 0) FROM spent_definitions)
        WHERE status = 'ok' AND EXISTS (SELECT 1 FROM spent_calls WHERE spent_calls.execution = spent_executions.execution)
        AND NOT EXISTS (
        SELECT 1 FROM spent_executions AS earlier WHERE earlier.tenant = spent_executions.tenant AND earlier.status = 'ok'
        AND EXISTS (SELECT 1 FROM spent_calls WHERE spent_calls.execution = earlier.execution)
        AND earlier.conversation = spent_executions.conversation AND (earlier.at < spent_executions.at
        OR (earlier.at = spent_executions.at AND earlier.execution < spent_executions.execution)))""",
)

TOKEN_CLAIMS = Migration(number=4, name="token_claims", statements=_STATEMENTS)
