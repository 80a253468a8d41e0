"""Says which server a configuration means, apart from its name: two projects may give the same name to different servers."""

import re
from pathlib import Path

from gristmill.config.sections.servers_section import ServerConfig
from gristmill.upstream.listing.remembered_tools import hash_settings

DIGEST_CHARS = 16
_VERSION = re.compile(r"(?<=\w)(?:@(?:latest|next|[\^~]?v?\d[\w.+-]*)|==[\w.+!*-]+|:(?:latest|v?\d[\w.+-]*))$")
"""The version at the end of a package or an image: another version of a server is still that server."""


def hash_origin(config: ServerConfig, folder: Path | None = None) -> str:
    """Returns a digest of what is started or reached by ``config``: the program with its arguments, or the address.

    Versions are left out: a new version that says something else shall be noticed. A relative path that exists in the working
    directory (``folder``, or that of this process) means another program in each folder, so the folder counts then.
    """
    words = [config.command or "", *config.args]
    here = config.cwd or folder or Path.cwd()
    meant = {
        "words": [word if "://" in word else _VERSION.sub("", word) for word in words],
        "places": [config.url, config.openapi, config.python],
        "folder": str(here.absolute()) if any(_is_relative_file(word, here) for word in words) else None,
    }
    return hash_settings(meant)[:DIGEST_CHARS]


def _is_relative_file(word: str, folder: Path) -> bool:
    if not word or len(word) > 1_000 or "\0" in word or Path(word).is_absolute():
        return False
    try:
        return (folder / word).is_file()
    except OSError:
        return False
