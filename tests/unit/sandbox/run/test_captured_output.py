"""Output: head and tail kept, the middle counted."""

import os

from hypothesis import given
from hypothesis import strategies as st

from gristmill.sandbox.run.captured_output import CapturedOutput


def written(data: bytes, keep: int) -> tuple[str, bool]:
    read, write = os.pipe()
    output = CapturedOutput(read, keep)
    try:
        for start in range(0, len(data), 30_000):
            os.write(write, data[start : start + 30_000])
            output.read()
        return output.text()
    finally:
        os.close(write)
        output.close()


def test_what_was_read_before_the_pipe_was_given_up_stays() -> None:
    read, write = os.pipe()
    output = CapturedOutput(read, 1_000)
    os.write(write, b"before")
    os.close(write)
    assert output.read() == ("before", False)
    output.close()
    assert (output.read(), output.text()) == (("", False), ("before", False))


def test_short_output_is_whole() -> None:
    assert written("hé\n".encode(), 1_000) == ("hé\n", False)


def test_long_output_keeps_both_ends_and_says_how_much_is_missing() -> None:
    text, truncated = written(b"a" * 500 + b"-" * 100_000 + b"z" * 500, 1_000)
    assert truncated
    assert text == "a" * 500 + "\n... [100,000 bytes of output dropped] ...\n" + "z" * 500


@given(st.text(max_size=2_000), st.integers(2, 3_000))
def test_what_is_kept_is_bounded_and_made_of_both_ends(text: str, keep: int) -> None:
    data = text.encode("utf-8", "replace")
    kept, truncated = written(data, keep)
    assert truncated == (len(data) > 2 * (keep // 2))
    assert len(kept.encode()) <= keep + 60
