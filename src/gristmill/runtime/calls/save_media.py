"""Images, sounds and other bytes in a result become files of the workspace; the code gets a handle to each.

The bytes travel beside the value and are written inside the jail, by its own rights and within its own limits. So it is the
same with a session and without, and the host never writes into a folder that the code controls.
"""

import hashlib
from dataclasses import field, replace
from typing import cast

from gristmill.model import Handler, Json, ToolCall, ToolResult
from gristmill.upstream.mcp.blob import CONTENT_KEY, Blob
from gristmill.values import dataclass

FOLDER = "media"
_ENDINGS = {
    "image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp", "image/svg+xml": "svg",
    "audio/mpeg": "mp3", "audio/wav": "wav", "audio/x-wav": "wav", "audio/ogg": "ogg", "audio/flac": "flac",
    "application/pdf": "pdf", "application/zip": "zip", "application/gzip": "gz", "text/csv": "csv", "text/plain": "txt",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SaveMedia:
    """A layer that takes bytes out of the value and sends them along as files; larger ones than ``cap`` stay behind."""

    cap: int = 10_000_000

    async def __call__(self, call: ToolCall, proceed: Handler) -> ToolResult:
        """Pass the call on, and the result back with handles."""
        result = await proceed(call)
        taken = _Taken(self.cap)
        value = taken.out_of(result.value)
        if value is result.value:
            return result
        return replace(result, value=value, files={**result.files, **taken.files})


@dataclass(slots=True)
class _Taken:
    cap: int
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def out_of(self, value: Json) -> Json:
        """The value with handles where blobs were; the same object when there were none."""
        if isinstance(value, Blob):
            return self._handle(value)
        if isinstance(value, list):
            blocks = cast("list[Json]", value)
            return [self.out_of(block) for block in blocks] if any(isinstance(block, Blob) for block in blocks) else blocks
        known = cast("dict[str, Json]", value) if isinstance(value, dict) else {}
        if CONTENT_KEY in known:
            content = self.out_of(known[CONTENT_KEY])
            return known if content is known[CONTENT_KEY] else {**known, CONTENT_KEY: content}
        return cast("Json", value)

    def _handle(self, blob: Blob) -> dict[str, Json]:
        handle: dict[str, Json] = {"file": None, "mime_type": blob.mime, "bytes": len(blob.data)}
        handle |= {"uri": blob.uri} if blob.uri else {}
        if len(blob.data) > self.cap:
            return {
                **handle,
                "note": f"not kept: larger than the {self.cap:,} bytes that a file may have (sandbox.limits.file_mb)",
            }
        ending = _ENDINGS.get(blob.mime.partition(";")[0].strip().lower(), "bin")
        name = f"{FOLDER}/{hashlib.sha256(blob.data).hexdigest()[:16]}.{ending}"
        self.files[name] = blob.data
        return {**handle, "file": name}
