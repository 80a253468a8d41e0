"""Installs the packages that programs in the sandbox may import, as the configuration lists them."""

from pathlib import Path

from gristmill.config.tree import Config
from gristmill.sandbox.managed_packages import install_packages


def install_configured_packages(config: Config) -> Path:
    """Installs the packages of ``sandbox.packages`` into a folder of the state folder, and returns that folder.

    Raises:
        ConfigError: pip failed; the message quotes pip.
    """
    return install_packages(config.sandbox.packages, config.state_dir)
