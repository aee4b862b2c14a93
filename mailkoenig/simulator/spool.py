"""Contents on disk: a million recipients' variables would not fit in memory, and nobody reads most of them."""

import os
import tempfile
import threading


class Spool:
    """An unnamed temporary file that is only appended to; it vanishes with the process."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="simulator-")  # noqa: SIM115  # lives as long as this object
        self._lock = threading.Lock()
        self._end = 0

    def append(self, content: bytes) -> int:
        """Store `content` and return where."""
        with self._lock:
            offset, self._end = self._end, self._end + len(content)
        view = memoryview(content)
        written = 0
        while written < len(content):
            written += os.pwrite(self._file.fileno(), view[written:], offset + written)
        return offset

    def read(self, offset: int, length: int) -> bytes:
        """Return what was stored."""
        pieces = []
        while length > 0 and (piece := os.pread(self._file.fileno(), length, offset)):
            pieces.append(piece)
            offset, length = offset + len(piece), length - len(piece)
        return b"".join(pieces)

    def clear(self) -> None:
        """Give the disk back."""
        with self._lock:
            self._end = 0
            self._file.truncate(0)

    def close(self) -> None:
        """Remove the file."""
        self._file.close()
