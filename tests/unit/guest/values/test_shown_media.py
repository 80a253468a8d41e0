# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownParameterType=false
"""Pictures and tables that a program returns or shows are kept beside the result, within bounds."""

import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from gristmill.guest.json_values import encode_value
from gristmill.guest.values import shown_media
from gristmill.guest.values.run_notes import take_notes
from gristmill.guest.values.shown_media import SHOWN, PyplotFinder, ShownParts


@pytest.fixture(autouse=True)
def fresh() -> None:
    SHOWN.take_fitting(0)
    take_notes()


class Figure:
    """Stands for a figure of matplotlib."""

    __module__ = "matplotlib.figure"

    def __init__(self, size: int = 10) -> None:
        self.size, self.drawn = size, 0

    def savefig(self, buffer: Any, *, format: str, dpi: int, bbox_inches: str) -> None:  # noqa: A002 - its own name
        self.drawn += 1
        buffer.write(b"x" * (self.size * dpi))


class Axes:
    __module__ = "matplotlib.axes"

    def __init__(self, figure: Figure) -> None:
        self.figure = figure


class Image:
    __module__ = "PIL.Image"

    def __init__(self, size: int = 5, mode: str = "RGB") -> None:
        self.size, self.mode = size, mode

    def save(self, buffer: Any, *, format: str) -> None:  # noqa: A002 - its own name
        buffer.write(self.mode.encode() + b"x" * self.size)

    def tobytes(self) -> bytes:
        return b""

    def copy(self) -> "Image":
        return Image(self.size, self.mode)

    def thumbnail(self, size: tuple[int, int]) -> None:
        self.size = size[0]

    def convert(self, mode: str) -> "Image":
        return Image(self.size, mode)


class Styler:
    __module__ = "pandas.io.formats.style"
    data = [{"a": 1}]  # noqa: RUF012 - stands for a DataFrame

    def to_html(self) -> str:
        return "<table></table>"


def shown(value: Any) -> tuple[Any, list[Any]]:
    text, _ = encode_value(value, 1_000_000)
    return json.loads(text), SHOWN.take_fitting(10_000_000)


def test_a_figure_is_an_image_wherever_it_stands_in_the_result() -> None:
    figure = Figure()
    handle = {"type": "image", "mime_type": "image/png", "part": 1, "bytes": 1000}
    image = ["image/png", base64.b64encode(b"x" * 1000).decode()]
    assert shown(figure) == (handle, [image])
    assert shown({"rows": 1, "all": [figure, Axes(figure), Axes(figure)]}) == ({"rows": 1, "all": [handle] * 3}, [image])
    assert figure.drawn == 2  # once in each of the two runs


def test_an_image_is_encoded_in_a_mode_that_png_has() -> None:
    assert shown(Image(mode="CMYK"))[1] == [["image/png", base64.b64encode(b"RGBxxxxx").decode()]]


def test_a_styled_table_is_its_rows_and_its_html() -> None:
    assert shown(Styler()) == ([{"a": 1}], [["text/html", "<table></table>"]])
    assert shown("<table></table>")[1] == [["text/html", "<table></table>"]]
    assert shown("a <table></table>")[1] == shown("<table></table> b")[1] == shown("text")[1] == []


def test_what_is_too_large_is_drawn_smaller_or_said() -> None:
    assert shown(Figure(size=12_000))[0]["bytes"] == 12_000 * 60
    assert shown(Image(size=2_000_000))[0]["bytes"] == 1_203
    assert take_notes() == []
    handle, parts = shown(Figure(size=10**6))
    assert (handle["note"], parts, take_notes()) == ("not shown: too large, or one of too many", [], ["not_shown"])
    SHOWN.add_table("x" * 50_001)
    assert (SHOWN.take_fitting(10**6), take_notes()) == ([], ["not_shown"])


def test_there_is_a_limit_to_their_number_and_to_all_of_them() -> None:
    result, parts = shown([Figure(size) for size in range(1, 12)])
    assert (len(parts), ["part" in each for each in result]) == (8, [True] * 8 + [False] * 3)
    assert take_notes() == ["not_shown"]
    for _ in range(2):
        SHOWN.add_table("<table></table>" + _ * "\u2028")
    assert SHOWN.take_fitting(60) == [["text/html", "<table></table>"]]
    assert take_notes() == ["not_shown"]


def test_show_keeps_open_figures_and_each_again_only_after_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "matplotlib"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "pyplot.py").write_text(
        "open_figures = {}\n"
        "class Figure:\n    pass\n"
        "def get_fignums():\n    return list(open_figures)\n"
        "def gcf():\n    return open_figures[max(open_figures)]\n"
        "def figure(number):\n    return open_figures.get(number)\n"
        "def show():\n    raise NotImplementedError\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", [PyplotFinder(), *sys.meta_path])
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    kept = ShownParts()
    monkeypatch.setattr(shown_media, "SHOWN", kept)
    import matplotlib.pyplot as plt  # pyright: ignore[reportMissingImports, reportMissingModuleSource] - the one above

    assert type(plt.__loader__).__name__ == "SourceFileLoader"
    first, second = Figure(1), Figure(2)
    plt.open_figures[1] = first
    plt.show()
    plt.open_figures[2] = second
    plt.show()
    assert len(kept.take_fitting(10**6)) == 2
    plt.show()  # another run of the session
    assert kept.take_fitting(10**6) == []
    first.size = 3
    plt.show(block=False)
    assert len(kept.take_fitting(10**6)) == 1
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.delitem(sys.modules, name)


def test_other_modules_are_not_looked_for() -> None:
    assert PyplotFinder().find_spec("matplotlib") is None
    assert PyplotFinder().find_spec("matplotlib.pyplot", ["/nowhere"]) is None
