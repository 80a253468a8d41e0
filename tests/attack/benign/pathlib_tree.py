from pathlib import Path
root = Path("project")
(root / "src").mkdir(parents=True)
for n in range(3):
    (root / "src" / f"m{n}.py").write_text(f"x = {n}\n")
(root / "README.md").write_text("# hi")
(root / "README.md").rename(root / "readme.md")
[sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()), sum(p.stat().st_size for p in root.rglob("*.py"))]
# expect: [["readme.md", "src/m0.py", "src/m1.py", "src/m2.py"], 18]
