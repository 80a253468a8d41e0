"""Questions that users of the examples would ask, with programs that answer them and the truth from the database."""

from examples.tasks.homeiq import TASKS as HOMEIQ
from examples.tasks.omniops import TASKS as OMNIOPS
from examples.tasks.pam import TASKS as PAM

TASKS = (*PAM, *HOMEIQ, *OMNIOPS)
