"""All migrations in their order. Migration 1 stands first, and each number is one higher than the number before."""

from gristmill.store.schema.migration import Migration
from gristmill.store.schema.v0001_first import FIRST
from gristmill.store.schema.v0002_record_formats import RECORD_FORMATS
from gristmill.store.schema.v0003_session_generations import SESSION_GENERATIONS
from gristmill.store.schema.v0004_token_claims import TOKEN_CLAIMS
from gristmill.store.schema.v0005_history_indexes import HISTORY_INDEXES

MIGRATIONS: tuple[Migration, ...] = (FIRST, RECORD_FORMATS, SESSION_GENERATIONS, TOKEN_CLAIMS, HISTORY_INDEXES)
