"""Starts the command line, for ``gristmill`` and for ``python -m gristmill``."""

import gc

# What is imported stays in memory, so garbage is looked for less often than usual; set before the imports, which it makes faster.
gc.set_threshold(50_000)

from gristmill.serve.cli.app import main as run_command  # noqa: E402


def main() -> None:
    """Runs the command line."""
    try:
        run_command()
    finally:
        gc.freeze()  # the interpreter ends with a collection over everything, which takes a fifth of a search


if __name__ == "__main__":
    main()
