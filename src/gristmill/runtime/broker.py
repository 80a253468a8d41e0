"""The story of one tool call: through every layer, outermost first, to its server and back."""

from collections.abc import Sequence
from functools import partial

from gristmill.model import Handler, Layer
from gristmill.runtime.answer import AnswerDiscovery
from gristmill.runtime.arguments import CheckArguments
from gristmill.runtime.discover import Discovery
from gristmill.runtime.library import Library
from gristmill.runtime.names import ProperNames


def call_layers(library: Library, discovery: Discovery, inner: Sequence[Layer] = ()) -> tuple[Layer, ...]:
    """What every call passes on its way out, outermost first; ``inner`` are those that the configuration asks for."""
    return (AnswerDiscovery(discovery), ProperNames(library.find), CheckArguments(library.find), *inner)


def compose(layers: Sequence[Layer], upstream: Handler) -> Handler:
    """The upstream behind ``layers``; the first of them sees a call first."""
    handler = upstream
    for layer in reversed(layers):
        handler = partial(layer, proceed=handler)
    return handler
