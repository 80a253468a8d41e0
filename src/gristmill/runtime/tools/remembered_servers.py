"""Lists the configured servers with the tools that are remembered on disk, while there is no runtime yet."""

from pathlib import Path

from gristmill.config.tree import Config
from gristmill.upstream.listing.remembered_tools import load_remembered_tools


def load_remembered_servers(config: Config) -> dict[str, tuple[str, ...]]:
    """Returns the names of the remembered tools by the name of their server, without connecting to any server."""
    folder: Path = config.state_dir / "upstreams"
    return {
        name: tuple(tool.name for tool in load_remembered_tools(folder, name, server).tools)
        for name, server in config.servers.items()
        if server.enabled
    }
