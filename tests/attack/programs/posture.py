# Runs inside the sandbox: everything that says what this process has, may and sees.
import os
import resource
import socket
import stat
import sys

KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFCHR: "device", stat.S_IFSOCK: "socket", stat.S_IFIFO: "pipe"}


def read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError as error:
        return f"{type(error).__name__}"


def listing(path):
    try:
        return sorted(os.listdir(path))
    except OSError as error:
        return type(error).__name__


def descriptors():
    found = {}
    for fd in range(4096):
        try:
            status = os.fstat(fd)
        except OSError:
            continue
        found[str(fd)] = KINDS.get(stat.S_IFMT(status.st_mode), "other")
    return found


def status():
    wanted = "Uid Gid Groups CapInh CapPrm CapEff CapAmb NoNewPrivs Seccomp Seccomp_filters Threads NSpid".split()
    lines = dict(line.split(":", 1) for line in read("/proc/self/status").splitlines() if ":" in line)
    return {name: " ".join(lines[name].split()) for name in wanted if name in lines}


def limits():
    names = [name for name in dir(resource) if name.startswith("RLIMIT_") and name != "RLIMIT_OFILE"]
    return {name: list(resource.getrlimit(getattr(resource, name))) for name in names}


{
    "descriptors": descriptors(),
    "status": status(),
    "limits": limits(),
    "environment": sorted(os.environ),
    "identity": [os.getresuid(), os.getresgid(), os.getgroups(), os.getpid(), os.getppid()],
    "uid_map": read("/proc/self/uid_map").split(),
    "gid_map": read("/proc/self/gid_map").split(),
    "setgroups": read("/proc/self/setgroups").strip(),
    "namespaces": {name: os.readlink(f"/proc/self/ns/{name}") for name in listing("/proc/self/ns")} if read("/proc/self/status")[0] == "N" else {},
    "folders": {path: listing(path) for path in ("/", "/dev", "/etc", "/opt", "/run", "/tmp", "/workspace", "/sys", "/home", "/root", "/var")},
    "proc": [name for name in listing("/proc") if not name.isdigit()] if isinstance(listing("/proc"), list) else listing("/proc"),
    "hostname": socket.gethostname(),
    "cwd_is_writable": os.access(".", os.W_OK),
    "path": [entry.replace(sys.base_prefix, "PREFIX") for entry in sys.path],
    "ours": sorted(name for name in sys.modules if "gristmill" in name),
    "umask": os.umask(0o22),
}
