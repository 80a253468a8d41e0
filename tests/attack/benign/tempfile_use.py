import tempfile, os
with tempfile.NamedTemporaryFile("w+", suffix=".txt") as file:
    file.write("hello")
    file.flush()
    size = os.path.getsize(file.name)
with tempfile.TemporaryDirectory() as folder:
    open(os.path.join(folder, "a"), "w").write("x")
    names = os.listdir(folder)
with tempfile.SpooledTemporaryFile() as spool:
    spool.write(b"abc")
[size, names, os.path.exists(folder)]
# expect: [5, ["a"], false]
