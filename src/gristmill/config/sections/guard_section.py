"""The `guard` section of the configuration: house rules for code, on top of the sandbox. Ground below `config`."""

from gristmill.config.sections.base import Section


class GuardConfig(Section):
    """House rules for code. Empty refuses nothing that could run: the wall is the sandbox, not a word list."""

    allowed_modules: tuple[str, ...] | None = None
    """Modules that code may import (`json`, `urllib.parse`), beside the tools' own. Not set allows all, an empty list none."""
    denied_names: tuple[str, ...] = ()
    """Names that code may not use, as a variable, an attribute or an import, such as `subprocess` or `eval`."""
