"""The layers that use what is known about tools, as one value."""

from msgspec import Struct, field

from gristmill.runtime.calls.learn_from_calls import LearnFromCalls
from gristmill.runtime.calls.save_media import SaveMedia
from gristmill.runtime.tools.pinning import HoldBackChanged


class ToolLayers(Struct, frozen=True, kw_only=True):
    """Three layers: ``hold_back`` runs before people are asked, ``learn`` outside of the masks, ``media`` next to the servers."""

    hold_back: HoldBackChanged | None = None
    learn: LearnFromCalls | None = None
    media: SaveMedia = field(default_factory=SaveMedia)
