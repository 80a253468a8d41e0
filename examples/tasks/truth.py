"""The databases behind the examples, opened past their servers."""

import sqlite3

from examples.cached import made_once, open_read_only
from examples.homeiq import seed as homeiq
from examples.omniops import seed as omniops
from examples.opening import App
from examples.pam import seed as pam
from examples.records import open_copy


def open_truth(app: App) -> sqlite3.Connection:
    """The records as they are generated, before any tool wrote to them."""
    match app:
        case "pam":
            return open_copy(pam.build, None)
        case "homeiq":
            return open_read_only(made_once(homeiq.FILE, homeiq.build))
        case "omniops":
            return open_read_only(made_once(omniops.FILE, omniops.build))
