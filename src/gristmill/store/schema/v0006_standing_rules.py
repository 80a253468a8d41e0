"""Version 6: rules that a person made while approving, by which later calls of a tool need no approval.

A plan names the key of its session, so that a rule for the session is not a rule for a later one of the same name.
"""

from gristmill.store.schema.migration import Migration

_STATEMENTS = (
    """CREATE TABLE standing_rules (
        id TEXT PRIMARY KEY, tenant TEXT NOT NULL, caller TEXT NOT NULL, space TEXT, session TEXT, tool TEXT NOT NULL,
        definition TEXT NOT NULL, approval TEXT NOT NULL, created DOUBLE PRECISION NOT NULL, made_by TEXT NOT NULL)""",
    "ALTER TABLE approvals ADD COLUMN space TEXT",
    "CREATE INDEX standing_rules_by_caller ON standing_rules (tenant, caller, tool)",
)

STANDING_RULES = Migration(number=6, name="standing_rules", statements=_STATEMENTS)
