# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false
# A program's code is dynamic, and so is the code that runs it: this file is not type-checked strictly.
"""Keeps the pictures and tables that a program shows or returns: they go to the caller beside the result, not in it.

Figures of matplotlib, images of Pillow and styled tables of pandas are recognised without importing these packages. Without a
screen ``plt.show()`` does nothing; here it keeps the open figures, each again only after it has changed.
"""

import base64
import importlib.machinery
import io
import json
import re
import sys
import typing
import weakref

from gristmill.guest.values.run_notes import RUN_NOTES

MOST_PARTS, IMAGE_BYTES, TABLE_CHARACTERS = 8, 1_000_000, 50_000
"""How many parts one run may show, and how large an image and the HTML of a table may be."""
_SCALES = (100, 60, 30)
"""Dots per inch for a figure: fewer if its image is too large."""
_HTML_TABLE = re.compile(r"\s*(?:<style[^>]*>.*?</style>\s*)?<table\b.*</table>\s*", re.DOTALL | re.IGNORECASE)


class ShownParts:
    """What the run in progress has shown so far."""

    def __init__(self):
        self.parts = []  # [media type, base64 or HTML]
        self._returned = {}  # id -> (the object, so that its id stays taken; what stands for it in the result)
        self._last_shown = weakref.WeakKeyDictionary()  # figure -> its image when it was last shown, also by an earlier run

    def take_fitting(self, room):
        """Returns the parts that take no more than ``room`` bytes as JSON, and forgets all."""
        parts, self.parts, self._returned = self.parts, [], {}
        fitting = []
        for part in parts:
            room -= len(json.dumps(part)) + 1
            if room < 0:
                RUN_NOTES.add("not_shown")
                break
            fitting.append(part)
        return fitting

    def add_returned(self, holder, make_bytes):
        """Keeps an image of ``holder``, which is part of the result; returns what stands for it there."""
        known = self._returned.get(id(holder))
        if known is None:
            known = self._returned[id(holder)] = (holder, self._add_image(_fit_image(make_bytes)))
        return known[1]

    def add_figure(self, figure, make_bytes):
        """Keeps an image of a figure that is shown, unless it looks as it did when it was last shown."""
        image = _fit_image(make_bytes)
        if self._last_shown.get(figure) != hash(image):
            self._last_shown[figure] = hash(image)
            self._add_image(image)

    def _add_image(self, image):
        handle = {"type": "image", "mime_type": "image/png"}
        if image is not None:
            part = ["image/png", base64.b64encode(image).decode("ascii")]
            if part not in self.parts and len(self.parts) < MOST_PARTS:
                self.parts.append(part)
            if part in self.parts:
                return {**handle, "part": self.parts.index(part) + 1, "bytes": len(image)}
        RUN_NOTES.add("not_shown")
        return {**handle, "note": "not shown: too large, or one of too many"}

    def add_table(self, html):
        """Keeps the HTML of a table."""
        if len(self.parts) < MOST_PARTS and len(html) <= TABLE_CHARACTERS:
            self.parts.append(["text/html", html])
        else:
            RUN_NOTES.add("not_shown")


def _fit_image(make_bytes):
    """Returns the image in the largest scale that fits, or None."""
    return next((image for image in map(make_bytes, _SCALES) if len(image) <= IMAGE_BYTES), None)


SHOWN = ShownParts()


def show_value(value: typing.Any) -> typing.Any:
    """Keeps a picture or a styled table; returns what stands for it in the result, or None if ``value`` is neither."""
    kind = type(value)
    origin = kind.__module__.partition(".")[0]
    if hasattr(kind, "savefig"):
        figure = _find_figure(value)
        return SHOWN.add_returned(figure, lambda scale: _draw_figure(figure, scale))
    if origin == "matplotlib" and hasattr(getattr(value, "figure", None), "savefig"):
        return show_value(value.figure)
    if origin == "PIL" and hasattr(kind, "save") and hasattr(kind, "tobytes"):
        return SHOWN.add_returned(value, lambda scale: _encode_image(value, scale))
    if origin == "pandas" and kind.__name__ == "Styler":
        SHOWN.add_table(value.to_html())
        return value.data
    return None


def show_text(text: str) -> None:
    """Keeps a text that is the HTML of a table, as ``DataFrame.to_html`` makes it."""
    if text.endswith(("</table>", "</table>\n")) and _HTML_TABLE.fullmatch(text):
        SHOWN.add_table(text)


def _find_figure(value):
    """Returns the figure of a grid of plots, as seaborn makes it, or the figure itself."""
    figure = getattr(value, "figure", value)
    return figure if hasattr(figure, "savefig") else value


def _draw_figure(figure, scale):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=scale, bbox_inches="tight")
    return buffer.getvalue()


def _encode_image(image, scale):
    if scale < _SCALES[0]:
        image = image.copy()
        image.thumbnail((scale * 20, scale * 20))
    if image.mode not in ("1", "L", "LA", "P", "RGB", "RGBA"):
        image = image.convert("RGB")
    buffer = io.BytesIO()
    image.save(buffer, format="PNG")
    return buffer.getvalue()


class _PyplotLoader:
    """Loads ``matplotlib.pyplot`` and lets its ``show`` keep the figures."""

    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        _replace_show(module)


class PyplotFinder:
    """Finds ``matplotlib.pyplot`` and nothing else."""

    def find_spec(self, name, path=None, target=None):
        if name != "matplotlib.pyplot":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _PyplotLoader(spec.loader)
        return spec


def _replace_show(pyplot):
    def show_figure(self, warn=True):
        """Shows this figure to the caller of this program."""
        SHOWN.add_figure(self, lambda scale: _draw_figure(self, scale))

    def show(*_, **__):
        """Shows all open figures to the caller of this program."""
        current = pyplot.gcf() if pyplot.get_fignums() else None
        for number in pyplot.get_fignums():
            show_figure(pyplot.figure(number))
        if current is not None:
            pyplot.figure(current)  # the one that the program goes on drawing on

    pyplot.show = show
    pyplot.Figure.show = show_figure


def install_figures() -> None:
    """Makes ``plt.show()`` work when a program imports pyplot."""
    sys.meta_path.insert(0, PyplotFinder())
