"""The quick way through ``gristmill search`` and ``describe``: where the last catalogue can tell, nothing else is loaded.

It understands only what is plain. Anything else - a misspelt option, a value out of range, a question for help - is left to the
command line proper, which also says what is wrong; a test holds the tables of `plain_words` against its declarations.
"""

import os
import sys
from collections.abc import Sequence

from gristmill import __version__
from gristmill.serve.cli.plain_words import understood


def answered(arguments: Sequence[str]) -> bool:
    """Whether this was a question for the last catalogue and has been answered; if not, nothing has been printed."""
    asked = understood(arguments)
    if asked is None or "_GRISTMILL_COMPLETE" in os.environ:
        return False
    json = asked.pop("json", False)
    asked.pop("wait", None)  # for servers that nobody knows yet: then the last catalogue cannot tell
    from gristmill.runtime.last_search import describe_last, search_last
    from gristmill.serve.cli.terminal.show_tools import print_described, print_found

    if arguments[0] == "describe":
        described = describe_last(**asked, version=__version__)
        if described is not None:
            print_described(described, json=json)
        return described is not None
    found = search_last(**asked, version=__version__)
    if found is None or not found.hits:
        return False
    print_found(found, json=json)
    return True


def main() -> None:
    """Answer the words of this process and end it, or leave them to the command line proper.

    Whoever stops listening or waiting is let go, as it does.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # starting more threads takes longer than the sums of one question
    try:
        if answered(sys.argv[1:]):
            os._exit(0)  # all is said and nothing is open: to take everything down in good order would take 20 ms
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()  # the reader has left; there is nobody to tell
        sys.exit(141)
