"""The layers that go by what is known about tools, as one value."""

from dataclasses import field

from gristmill.runtime.calls.learn_from_calls import LearnFromCalls
from gristmill.runtime.calls.save_media import SaveMedia
from gristmill.runtime.tools.pinning import HoldBack
from gristmill.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTools:
    """Each where it belongs among the others: before anybody is asked, outside of the masks, next to the servers."""

    hold_back: HoldBack | None = None
    learn: LearnFromCalls | None = None
    media: SaveMedia = field(default_factory=SaveMedia)
