# Enter the kernel by the 32-bit gate (int 0x80): getpid, which is number 20 there and writev here.
import ctypes
import mmap

code = bytes.fromhex("b814000000" "cd80" "c3")  # mov eax, 20; int 0x80; ret
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(code)
entry = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
print("TRYING", flush=True)
print("EFFECT", entry(), flush=True)
