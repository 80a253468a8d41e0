import mmap, os
with open("big.bin", "wb") as file:
    for n in range(64):
        file.write(bytes([n]) * 65536)
with open("big.bin", "r+b") as file, mmap.mmap(file.fileno(), 0) as view:
    view[0:4] = b"head"
    found = view.find(bytes([63]) * 4)
[os.path.getsize("big.bin"), found, open("big.bin", "rb").read(4).decode()]
# expect: [4194304, 4128768, "head"]
