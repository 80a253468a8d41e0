"""One step from a version of the schema to the next. Values only."""

from collections.abc import Mapping

from msgspec import Struct

SchemaStatement = str | Mapping[str, str]
"""SQL that both databases understand, or one statement for each of them, by the name of its driver."""


class Migration(Struct, frozen=True, kw_only=True):
    """The statements that lead to version ``number`` of the schema."""

    number: int
    name: str
    statements: tuple[SchemaStatement, ...]

    def list_statements(self, database: str) -> tuple[str, ...]:
        """Returns the statements for the driver called ``database``."""
        return tuple(each if isinstance(each, str) else each[database] for each in self.statements)
