"""``gristmill`` and ``python -m gristmill``: the command line."""

import sys

from gristmill.loading import loading


def main() -> None:
    """Hand over to the door, for questions about tools to its quick side first."""
    with loading():
        if sys.argv[1:2] in (["search"], ["describe"]):
            from gristmill.serve.cli.quick import main as answer

            answer()  # and end, where the last catalogue can tell
        from gristmill.serve.cli.app import main as run  # heavy only where it is needed
    run()


if __name__ == "__main__":
    main()
