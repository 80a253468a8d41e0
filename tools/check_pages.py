"""Check the sources of the dashboard: generated types, lint, format and types. With ``--write`` write the types and the format.

Run it with the Python of `.venv`, as `tools/pages.py`, which builds the pages.
"""

import sys

from pages import SOURCE, install, node

TYPES = "src/api/api.d.ts"
GENERATE = ("node_modules/openapi-typescript/bin/cli.js", "openapi.json", "--output", TYPES)
LINT = ("node_modules/@biomejs/biome/bin/biome", "check", "--error-on-warnings")
COMPILE = ("node_modules/typescript/bin/tsc", "--project", ".")


def main() -> None:
    """Write or check."""
    is_writing = "--write" in sys.argv
    install(with_checkers=True)
    node(*GENERATE, *(() if is_writing else ("--check",)), about=f"{TYPES} is out of date: run `make docs`")
    node(
        *LINT,
        *(("--write",) if is_writing else ()),
        about="lint or format is wrong; `python tools/check_pages.py --write` fixes the format",
    )
    node(*COMPILE, about="the types of the dashboard do not fit")
    print(f"{len(list((SOURCE / 'src').rglob('*.ts*')))} files of the dashboard are fine")


if __name__ == "__main__":
    main()
