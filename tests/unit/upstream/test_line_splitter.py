"""Lines from chunks, with a cap."""

from hypothesis import given
from hypothesis import strategies as st

from gristmill.upstream.line_splitter import LineSplitter, LineTooLong


@given(lines=st.lists(st.binary(max_size=50).filter(lambda b: b"\n" not in b), max_size=20), cut=st.integers(1, 17))
def test_lines_come_out_as_they_went_in_however_they_were_cut(lines: list[bytes], cut: int) -> None:
    text = b"".join(line + b"\n" for line in lines)
    splitter = LineSplitter(1_000)
    found = [line for at in range(0, len(text), cut) for line in splitter.feed(text[at : at + cut])]
    assert found == lines


@given(cut=st.integers(1, 400), size=st.integers(300, 2_000))
def test_a_line_past_the_cap_keeps_only_its_id(cut: int, size: int) -> None:
    front = b'{"jsonrpc":"2.0","id":17,"result":{"a":"%s"}}' % (b"x" * size)
    back = b'{"result":{"a":"%s"},"jsonrpc":"2.0","id":"k-1"}' % (b"x" * size)
    text = front + b"\n" + back + b"\nshort\n"
    splitter = LineSplitter(200)
    found = [line for at in range(0, len(text), cut) for line in splitter.feed(text[at : at + cut])]
    answers = [
        LineTooLong(id=17, size=len(front), is_message=True, is_answer=True),
        LineTooLong(id="k-1", size=len(back), is_message=True, is_answer=True),
    ]
    assert found == [*answers, b"short"]


def test_an_id_in_the_middle_of_a_text_is_not_believed() -> None:
    line = b'{"result":{"t":"%s \\"jsonrpc\\":\\"2.0\\",\\"id\\":5} %s"}}' % (b"x" * 300, b"y" * 300)
    assert list(LineSplitter(100).feed(line + b"\n")) == [LineTooLong(id=None, size=len(line), is_message=False, is_answer=False)]


def test_memory_stays_below_the_cap_whatever_comes() -> None:
    splitter = LineSplitter(1_000)
    for _ in range(1_000):
        assert not list(splitter.feed(b"z" * 1_000))
    assert splitter.pending_bytes == 1_000_000
    assert sum(map(len, splitter._parts)) <= 1_000  # pyright: ignore[reportPrivateUsage]
