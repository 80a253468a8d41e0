"""What a server's program prints is kept, within limits and without secrets."""

import stat
from pathlib import Path

from gristmill.upstream.stdio.server_log import BURST_BYTES, BYTES_PER_SECOND, ServerLog, name_older_log, read_log


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def open_log(folder: Path, most_bytes: int = 100_000) -> tuple[ServerLog, Path, Clock]:
    clock, path = Clock(), folder / "logs" / "crm.log"
    return ServerLog(path, most_bytes, lambda text: text.replace("s3cret", "***"), clock), path, clock


def test_lines_have_a_time_and_no_secret_wherever_chunks_end(tmp_path: Path) -> None:
    log, path, _ = open_log(tmp_path)
    log.note("started")
    log.add(b"first\nkey s3c")
    log.add(b"ret\n\n\xff last")
    assert [line[20:] for line in read_log(path, 10)] == ["-- started", "first", "key ***"]
    assert read_log(path, 10)[0].startswith("2027-01-15 08:00:00 ")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_oldest_is_dropped_when_it_is_full(tmp_path: Path) -> None:
    log, path, clock = open_log(tmp_path, 4_000)
    for number in range(200):
        log.add(b"line %d of a program that has much to say\n" % number)
        clock.now += 1
    assert path.stat().st_size + name_older_log(path).stat().st_size <= 4_200
    assert read_log(path, 1)[0].endswith("line 199 of a program that has much to say")
    assert len(read_log(path, 1_000)) < 100


def test_what_is_printed_too_fast_is_counted_and_not_kept(tmp_path: Path) -> None:
    log, path, clock = open_log(tmp_path, 10_000_000)
    chunk = b"x" * 100 + b"\n"
    for _ in range(2 * BURST_BYTES // len(chunk)):
        log.add(chunk)
    assert path.stat().st_size < 1.3 * BURST_BYTES
    clock.now += len(chunk) / BYTES_PER_SECOND + 1
    log.add(b"later\n")
    assert [line[20:] for line in read_log(path, 2)][-1] == "later"
    assert "bytes were printed too fast and are not kept" in read_log(path, 2)[0]


def test_a_line_without_end_stays_bounded(tmp_path: Path) -> None:
    log, path, _ = open_log(tmp_path)
    for _ in range(100):
        log.add(b"x" * 1_000)
    log.add(b"\n")
    assert len(read_log(path, 5)[0]) < 2_000


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    log, path, _ = open_log(tmp_path)
    path.parent.mkdir()
    path.symlink_to(tmp_path / "elsewhere")
    log.add(b"line\n")
    assert not (tmp_path / "elsewhere").exists()
