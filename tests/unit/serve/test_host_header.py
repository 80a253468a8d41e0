"""Which host a request is addressed to."""

import pytest

from gristmill.serve.host_header import read_host


@pytest.mark.parametrize(
    ("header", "host"),
    [("localhost", "localhost"), ("LOCALHOST:80", "localhost"), ("[::1]:8030", "[::1]"), ("my-mill.example.com", "my-mill.example.com"),
     ("mill_1", "mill_1")],
)  # fmt: skip
def test_a_host_is_read_without_its_port(header: str, host: str) -> None:
    assert read_host(header) == host


@pytest.mark.parametrize(
    "header",
    [None, "", ":80", "localhost:", "localhost:8210,evil.test", "localhost:8a", "localhost:123456", "a b", "localhost\n", "[::1", "a@b",
     ".localhost", "localhost.", "localhost:80:80", "[::1]x"],
)  # fmt: skip
def test_a_header_of_another_form_names_no_host(header: str | None) -> None:
    assert read_host(header) == ""
