"""Turns the keywords with which users of the Python API say who asks into one identity."""

from gristmill.errors import ConfigError
from gristmill.model import LOCAL, LOCAL_IDENTITY, Identity


def choose_identity(identity: Identity | None, *, caller: str | None = None, tenant: str | None = None) -> Identity:
    """Returns ``identity``, or the one that ``caller`` and ``tenant`` name; without any of them the local user.

    Raises:
        ConfigError: both ways were used at once, so it is not clear who asks.
    """
    if caller is None and tenant is None:
        return LOCAL_IDENTITY if identity is None else identity
    if identity is not None:
        raise ConfigError("say who asks in one way: with `identity`, or with `caller` and `tenant`")
    return Identity(tenant=LOCAL if tenant is None else tenant, caller=LOCAL if caller is None else caller)
