"""The story of one tool call: through every layer, outermost first, to its server and back."""

from collections.abc import Sequence
from functools import partial

from gristmill.model import Handler, Layer


def compose(layers: Sequence[Layer], upstream: Handler) -> Handler:
    """The upstream behind ``layers``; the first of them sees a call first."""
    handler = upstream
    for layer in reversed(layers):
        handler = partial(layer, proceed=handler)
    return handler
