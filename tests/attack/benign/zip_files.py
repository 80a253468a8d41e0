import zipfile, io, gzip, tarfile, bz2, lzma
buffer = io.BytesIO()
with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("a.txt", "alpha")
    archive.writestr("b/c.txt", "gamma")
with zipfile.ZipFile(buffer) as archive:
    names, text = archive.namelist(), archive.read("b/c.txt").decode()
with tarfile.open("x.tar.gz", "w:gz") as tar:
    open("a.txt", "w").write("alpha")
    tar.add("a.txt")
[names, text, tarfile.open("x.tar.gz").getnames(), gzip.decompress(gzip.compress(b"g")).decode(), bz2.decompress(bz2.compress(b"b")).decode()]
# expect: [["a.txt", "b/c.txt"], "gamma", ["a.txt"], "g", "b"]
