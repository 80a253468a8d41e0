"""The output of a program: the head and the tail are kept, the middle is dropped and counted, up to a cap."""

import codecs
import os

CHUNK_BYTES = 1 << 16


class KeptOutput:
    """What is kept of a program's output."""

    def __init__(self, keep_bytes: int) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._half = keep_bytes // 2
        self._dropped = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def add(self, data: bytes) -> str:
        """Keeps what fits of ``data``; returns it as text, with characters that were not complete before."""
        self._keep_head_and_tail(data)
        return self._decoder.decode(data)

    def text(self) -> tuple[str, bool]:
        """Returns all text that was kept, and whether some was dropped."""
        if not self._dropped:
            return (self._head + self._tail).decode("utf-8", "replace"), False
        head, tail = self._head.decode("utf-8", "ignore"), self._tail.decode("utf-8", "ignore")
        return f"{head}\n... [{self._dropped:,} bytes of output dropped] ...\n{tail}", True

    def set_kept_bytes(self, keep_bytes: int) -> None:
        """Sets how much is kept from now on; what was kept before stays."""
        self._half = keep_bytes // 2

    def reset(self) -> None:
        """Discards all output: a new execution begins."""
        self._head.clear()
        self._tail.clear()
        self._dropped = 0
        self._decoder.reset()

    def _keep_head_and_tail(self, data: bytes) -> None:
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        excess = len(self._tail) - self._half
        if excess > 0:
            self._dropped += excess
            del self._tail[:excess]


class CapturedOutput(KeptOutput):
    """The host's end of the pipe that is a child's stdout and stderr."""

    def __init__(self, fd: int, keep_bytes: int) -> None:
        super().__init__(keep_bytes)
        os.set_blocking(fd, False)
        self._fd = fd

    def read(self, most: int = 1 << 20) -> tuple[str, bool]:
        """Reads up to ``most`` bytes of what is available, none once closed; returns the text, and whether there may be more."""
        parts: list[bytes] = []
        taken = 0
        while taken < most and self._fd >= 0:
            try:
                data = os.read(self._fd, CHUNK_BYTES)
            except BlockingIOError:
                break
            if not data:
                break
            parts.append(data)
            taken += len(data)
        return self.add(b"".join(parts)), taken >= CHUNK_BYTES

    def reset(self) -> None:
        """Discards all output, also what is still in the pipe: a new execution begins."""
        self.read()
        super().reset()

    def close(self) -> None:
        """Closes the pipe."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
