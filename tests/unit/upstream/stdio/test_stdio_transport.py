"""What a server's process gets of our environment."""

from gristmill.upstream.stdio.stdio_transport import ServerProgram, make_minimal_environment


def test_only_three_names_of_ours_are_passed_on() -> None:
    ours = {"PATH": "/bin", "HOME": "/h", "AWS_SECRET_ACCESS_KEY": "x", "LD_PRELOAD": "y"}
    assert make_minimal_environment(ours, {"A": "1"}) == {"PATH": "/bin", "HOME": "/h", "LANG": "C.UTF-8", "A": "1"}
    assert make_minimal_environment(ours | {"LANG": "de"}, {"HOME": "/other"})["LANG"] == "de"
    assert make_minimal_environment(ours, {"HOME": "/other"})["HOME"] == "/other"


def test_what_is_passed_stands_above_ours_and_below_what_is_given() -> None:
    passed = {"LANG": "fr", "A": "passed", "B": "passed"}
    found = make_minimal_environment({"LANG": "de"}, {"A": "given"}, passed)
    assert found == {"LANG": "fr", "A": "given", "B": "passed"}


def test_a_program_is_never_printed() -> None:
    assert "s3cret" not in repr(ServerProgram(command="x", args=("--key=s3cret",), env={"A": "s3cret"}))
