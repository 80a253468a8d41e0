"""Questions that users of the examples would ask, with programs that answer them and the truth from the database."""

from examples.tasks.homeiq import TASKS as HOMEIQ
from examples.tasks.omniops import TASKS as OMNIOPS
from examples.tasks.pam import TASKS as PAM

TASKS = (*PAM, *HOMEIQ, *OMNIOPS)

SHOWN = (
    "pam-over-budget", "home-automate", "shop-raises", "pam-wait", "home-cold", "shop-customers",
    "pam-merchants", "home-kitchen", "shop-torch", "pam-spent", "home-coffee", "shop-growth",
)  # fmt: skip
"""What a demonstration shows, the most telling first; among the last are tasks where a program saves little or nothing."""
