# what: pathlib, tempfile, reading and writing
# expect: {"feb": 1, "jan": 3, "mar": 0}
import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    base = Path(folder)
    for month, lines in {"jan": 3, "feb": 1}.items():
        (base / f"{month}.log").write_text("error\n" * lines + "fine\n", encoding="utf-8")
    with open(base / "mar.log", "w", encoding="utf-8") as file:
        file.write("fine\n")
    counts = {path.stem: path.read_text().count("error") for path in sorted(base.glob("*.log"))}
counts
