"""Names the tools of a document's operations: ids that FastAPI generates become the name of the function. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec import Struct

from gristmill.loose_json import as_mapping
from gristmill.model import Json

METHODS = ("get", "put", "post", "delete", "patch", "head", "options")
_LONGEST_NAME = 100


class OperationPlace(Struct, frozen=True, kw_only=True):
    """Where an operation is in the document: its path, its method, and the path's item; and the names of its tool."""

    path: str
    method: str
    item: Mapping[str, Json]
    name: str = ""
    id: str = ""
    """The name that the document gives it, which is longer where ``name`` was shortened."""

    @property
    def spec(self) -> Mapping[str, Json]:
        """Returns the operation itself."""
        return as_mapping(self.item[self.method])


def list_places(paths: Mapping[str, Json]) -> Iterator[OperationPlace]:
    """Yields every operation with its names. A short name that two operations would have is used for neither."""
    places = [
        OperationPlace(path=path, method=method, item=as_mapping(item))
        for path, item in paths.items()
        for method in METHODS
        if method in as_mapping(item)
    ]
    ids = [_make_id(place) for place in places]
    shorts = [_shorten_id(place) or given for place, given in zip(places, ids, strict=True)]
    uses = Counter(shorts)
    for place, given, short in zip(places, ids, shorts, strict=True):
        name = short if uses[short] == 1 else given
        yield OperationPlace(path=place.path, method=place.method, item=place.item, name=name, id=given)


def _make_id(place: OperationPlace) -> str:
    given = place.spec.get("operationId") or f"{place.method}{place.path}"
    return _to_name(str(given)) or place.method


def _shorten_id(place: OperationPlace) -> str:
    """Returns the name of the function behind ``NAME_PATH_METHOD``, as FastAPI writes ids; empty for every other id."""
    given = str(place.spec.get("operationId") or "")
    path = re.sub(r"\W", "_", place.path)
    # A function with several methods has the id of one of them for each.
    ending = next((end for method in METHODS if given.endswith(end := f"{path}_{method}")), None)
    return _to_name(given.removesuffix(ending)) if ending else ""


def _to_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", text).strip("_")[:_LONGEST_NAME]
