"""The choices of ``gristmill init`` besides servers: packages, masking, tools that only read, and where secrets are kept."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import typer
from msgspec import Struct

from gristmill.errors import ConfigError
from gristmill.serve.cli.terminal.safe_output import neutralize_text, stderr

PACKAGE_SETS: Mapping[str, tuple[str, ...]] = {"data": ("pandas", "numpy", "matplotlib", "openpyxl")}
"""Sets of packages by the name that `--packages` takes."""

NAMED_TOOLS = 12


class MaskChoice(StrEnum):
    """How much of personal data and secrets a model and its programs see."""

    OUTPUT = "output"
    FULL = "full"
    OFF = "off"


MASK_HELP = (
    "output: the model sees placeholders such as <EMAIL_1> in place of personal data and secrets, programs see the values; "
    "full: programs see placeholders too, only tools get the values; off: nothing is masked."
)


class SetupChoices(Struct, frozen=True, kw_only=True):
    """What the user chose; None leaves the default."""

    packages: tuple[str, ...] = ()
    mask: MaskChoice | None = None
    reads: tuple[str, ...] = ()
    keyring: bool = False

    def list_settings(self) -> dict[str, dict[str, Any]]:
        """Returns the settings as sections of the configuration."""
        found: dict[str, dict[str, Any]] = {}
        if self.packages:
            found["sandbox"] = {"packages": list(self.packages)}
        if self.mask is not None:
            found["mask"] = {"mode": self.mask.value}
        if self.reads:
            found["policy"] = {"allow": list(self.reads)}
        return found


def find_packages(names: Sequence[str]) -> tuple[str, ...]:
    """Returns the packages of named sets; a name that is no set is a package.

    Raises:
        ConfigError: a name is an option or empty.
    """
    found: list[str] = []
    for name in names:
        if not name.strip() or name.startswith("-"):
            raise ConfigError(f"{name!r} is neither a package nor one of the sets {', '.join(PACKAGE_SETS)}")
        found += PACKAGE_SETS.get(name, (name,))
    return tuple(dict.fromkeys(found))


def ask_choices(given: SetupChoices, *, guessed: Sequence[str], secrets: int, place: str) -> SetupChoices:
    """Asks for every choice that was not given as an option."""
    packages = given.packages or (_offer_data_packages() if not given.packages else ())
    mask = given.mask or _offer_masking()
    reads = given.reads or (_offer_reads(guessed) if guessed else ())
    keyring = given.keyring or (secrets > 0 and typer.confirm(_ask_about_secrets(secrets, place), default=True, err=True))
    return SetupChoices(packages=packages, mask=mask, reads=reads, keyring=keyring)


def _offer_data_packages() -> tuple[str, ...]:
    named = ", ".join(PACKAGE_SETS["data"])
    wanted = typer.confirm(f"Let programs use {named}? (`gristmill packages install` downloads them)", default=False, err=True)
    return PACKAGE_SETS["data"] if wanted else ()


def _offer_masking() -> MaskChoice | None:
    stderr().print(f"Masking. {MASK_HELP}")
    said = typer.prompt("Mask", type=MaskChoice, default=MaskChoice.OUTPUT, err=True)
    return None if said is MaskChoice.OUTPUT else said


def _offer_reads(guessed: Sequence[str]) -> tuple[str, ...]:
    named = ", ".join(guessed[:NAMED_TOOLS]) + (f" and {len(guessed) - NAMED_TOOLS} more" if len(guessed) > NAMED_TOOLS else "")
    stderr().print(neutralize_text(f"By their names these only read, though their servers do not say so: {named}"))
    return tuple(guessed) if typer.confirm("Allow them without asking?", default=False, err=True) else ()


def _ask_about_secrets(secrets: int, place: str) -> str:
    which = "One secret stands" if secrets == 1 else f"{secrets} secrets stand"
    return f"{which} in plain text in your clients' files. Store a copy in {place}, for Gristmill?"
