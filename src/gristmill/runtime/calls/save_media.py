"""Turns images, sounds and other bytes in a result into files of the workspace; the code gets a handle to each.

The bytes travel beside the value and are written inside the jail, with its rights and within its limits. So this works the
same with a session and without, and the host never writes into a folder that the code controls.
"""

import hashlib
from collections.abc import Callable
from typing import cast

from msgspec import Struct, field
from msgspec.structs import replace

from gristmill.loose_json import as_mapping
from gristmill.model import Handler, Json, ToolCall, ToolResult
from gristmill.upstream.mcp.blob import CONTENT_KEY, Blob

ScreenBytes = Callable[[ToolCall, Blob], Blob | None]
"""Masks the text in a blob; None where the blob cannot be searched and must not enter the sandbox."""
MEDIA_FOLDER = "media"
_ENDINGS = {
    "image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp", "image/svg+xml": "svg",
    "audio/mpeg": "mp3", "audio/wav": "wav", "audio/x-wav": "wav", "audio/ogg": "ogg", "audio/flac": "flac",
    "application/pdf": "pdf", "application/zip": "zip", "application/gzip": "gz", "text/csv": "csv", "text/plain": "txt",
}  # fmt: skip


class SaveMedia(Struct, frozen=True):
    """A layer that takes bytes out of the value and sends them along as files; those larger than ``cap`` are dropped."""

    cap: int = 10_000_000
    screen: ScreenBytes | None = None
    """Masks what is in the bytes; None lets all bytes pass as they are."""

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Passes the call on, and returns the result with handles."""
        result = await proceed(call)
        collector = _MediaCollector(self.cap, call, self.screen)
        value = collector.replace_blobs(result.value)
        if value is result.value:
            return result
        return replace(result, value=value, files={**result.files, **collector.files})


def find_saved_files(value: Json) -> set[str]:
    """Returns the names of the files that the handles in a result name."""
    if isinstance(value, list):
        return set[str]().union(*(find_saved_files(block) for block in cast("list[Json]", value) if isinstance(block, dict)))
    known = as_mapping(value)
    if CONTENT_KEY in known:
        return find_saved_files(known[CONTENT_KEY])
    name = known.get("file")
    return {name} if isinstance(name, str) and name.startswith(f"{MEDIA_FOLDER}/") and "mime_type" in known else set()


class _MediaCollector(Struct):
    cap: int
    call: ToolCall
    screen: ScreenBytes | None
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def replace_blobs(self, value: Json) -> Json:
        """Returns the value with handles in place of blobs; the same object when there were none."""
        if isinstance(value, Blob):
            return self._collect_blob(value)
        if isinstance(value, list):
            blocks = cast("list[Json]", value)
            return [self.replace_blobs(block) for block in blocks] if any(isinstance(block, Blob) for block in blocks) else blocks
        known = as_mapping(value)
        if CONTENT_KEY in known:
            content = self.replace_blobs(known[CONTENT_KEY])
            return known if content is known[CONTENT_KEY] else {**known, CONTENT_KEY: content}
        return value

    def _collect_blob(self, blob: Blob) -> dict[str, Json]:
        handle: dict[str, Json] = {"file": None, "mime_type": blob.mime, "bytes": len(blob.data)}
        handle |= {"uri": blob.uri} if blob.uri else {}
        if len(blob.data) > self.cap:
            return {
                **handle,
                "note": f"not kept: larger than the {self.cap:,} bytes that a file may have (sandbox.limits.file_mb)",
            }
        screened = self.screen(self.call, blob) if self.screen else blob
        if screened is None:
            return {
                **handle,
                "note": "withheld: personal data in it cannot be masked (mask.mode is full); an operator can let it pass with "
                f'allow_binary = ["{self.call.tool}"] under [mask]',
            }
        blob, handle["bytes"] = screened, len(screened.data)
        ending = _ENDINGS.get(blob.mime.partition(";")[0].strip().lower(), "bin")
        name = f"{MEDIA_FOLDER}/{hashlib.sha256(blob.data).hexdigest()[:32]}.{ending}"
        self.files[name] = blob.data
        return {**handle, "file": name}
