"""``gristmill`` and ``python -m gristmill``: the command line."""


def main() -> None:
    """Hand over to the door."""
    from gristmill.serve.cli.app import main as run  # heavy only where it is needed

    run()


if __name__ == "__main__":
    main()
