"""What a server's process gets of our environment, and what is remembered of its last words."""

from gristmill.upstream.stdio.stdio_transport import LastWords, Program, minimal_environment


def test_only_three_names_of_ours_are_passed_on() -> None:
    ours = {"PATH": "/bin", "HOME": "/h", "AWS_SECRET_ACCESS_KEY": "x", "LD_PRELOAD": "y"}
    assert minimal_environment(ours, {"A": "1"}) == {"PATH": "/bin", "HOME": "/h", "LANG": "C.UTF-8", "A": "1"}
    assert minimal_environment(ours | {"LANG": "de"}, {"HOME": "/other"})["LANG"] == "de"
    assert minimal_environment(ours, {"HOME": "/other"})["HOME"] == "/other"


def test_the_last_line_that_says_something_is_kept() -> None:
    words = LastWords()
    for chunk in (b"start\n", b"Traceback\nValueError: no\n\n", b"  \n"):
        words.add(chunk)
    assert words.line() == "ValueError: no"
    words.forget()
    assert words.line() == ""


def test_a_flood_of_words_takes_little_memory() -> None:
    words = LastWords()
    for _ in range(1_000):
        words.add(b"x" * 100_000)
    assert len(words.line()) <= 20_000


def test_a_program_is_never_printed() -> None:
    assert "s3cret" not in repr(Program(command="x", args=("--key=s3cret",), env={"A": "s3cret"}))
