"""Names the folders of the gateway that no error may show to code or to a caller."""

import sys
from collections.abc import Mapping
from pathlib import Path

_PACKAGE = Path(__file__).parents[2]


def list_own_folders(state: Path) -> Mapping[str, str]:
    """Returns each folder of this gateway with the word that errors show for it."""
    folders = {str(_PACKAGE): "<gristmill>", str(state): "<state>"}
    if sys.prefix != sys.base_prefix:  # a virtual environment; otherwise this is /usr, which is a part of many other paths
        folders[sys.prefix] = "<python>"
    return folders | {str(Path(path).resolve()): word for path, word in folders.items()}
