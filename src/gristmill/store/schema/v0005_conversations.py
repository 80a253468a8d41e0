"""Version 5: conversations with a model, their messages, and what each turn cost."""

from gristmill.store.schema.migration import Migration

_STATEMENTS = (
    """CREATE TABLE conversations (
        id TEXT PRIMARY KEY, tenant TEXT NOT NULL, caller TEXT NOT NULL, title BYTEA NOT NULL, model TEXT NOT NULL,
        mode TEXT NOT NULL, created DOUBLE PRECISION NOT NULL, used DOUBLE PRECISION NOT NULL, turns INTEGER NOT NULL,
        standing TEXT NOT NULL, holder TEXT NOT NULL, pending BYTEA, folded_turns INTEGER NOT NULL, bytes BIGINT NOT NULL,
        input_tokens BIGINT NOT NULL, output_tokens BIGINT NOT NULL, cached_tokens BIGINT NOT NULL, requests BIGINT NOT NULL,
        money DOUBLE PRECISION)""",
    "CREATE INDEX conversations_by_caller ON conversations (tenant, caller, used)",
    "CREATE INDEX conversations_by_use ON conversations (used)",
    """CREATE TABLE conversation_messages (
        conversation TEXT NOT NULL, number INTEGER NOT NULL, turn INTEGER NOT NULL, kind TEXT NOT NULL, body BYTEA NOT NULL,
        folded BYTEA, at DOUBLE PRECISION NOT NULL, PRIMARY KEY (conversation, number))""",
    """CREATE TABLE conversation_turns (
        conversation TEXT NOT NULL, turn INTEGER NOT NULL, at DOUBLE PRECISION NOT NULL, ms DOUBLE PRECISION NOT NULL,
        status TEXT NOT NULL, mode TEXT NOT NULL, model TEXT NOT NULL, executions TEXT NOT NULL, input_tokens BIGINT NOT NULL,
        output_tokens BIGINT NOT NULL, cached_tokens BIGINT NOT NULL, requests BIGINT NOT NULL, money DOUBLE PRECISION,
        PRIMARY KEY (conversation, turn))""",
)

CONVERSATIONS = Migration(number=5, name="conversations", statements=_STATEMENTS)
