"""Version 2: records in rows name their format, and Gristmill 0.1.0 refuses the store.

0.1.0 does not look at the version, and cannot read the new records: it would answer a resume with the advice to execute the code
anew, which repeats writes. It creates an index on ``journal.at`` at each start. Without that column this fails, and 0.1.0 says
that the tables were made by another version. No query used the index.
"""

from gristmill.store.schema.migration import Migration

RECORD_FORMATS = Migration(
    number=2,
    name="record_formats",
    statements=("DROP INDEX journal_at", "ALTER TABLE journal RENAME COLUMN at TO changed"),
)
