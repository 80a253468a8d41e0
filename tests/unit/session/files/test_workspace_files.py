"""The host lists, reads, writes and deletes in a workspace that hostile code has prepared, and nothing anywhere else."""

import os
import socket
import threading
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gristmill.errors import LimitExceeded, NotFound, Refused
from gristmill.session.files import open_beneath as beneath
from gristmill.session.files import workspace_files as files
from gristmill.session.files.workspace_files import FileContent, FileEntry, FileQuota, WorkspaceFiles, measure_disk_usage
from gristmill.session.files.workspace_paths import CheckedPath, check_path, escape_name

QUOTA = FileQuota(bytes=1_000_000, files=100, file_bytes=500_000)


@pytest.fixture(params=["openat2", "walk"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of opening: the kernel's, and ours where it has none."""
    monkeypatch.setattr(beneath, "_openat2_missing", [request.param == "walk"])
    return request.param


def workspace(folder: Path, quota: FileQuota = QUOTA) -> WorkspaceFiles:
    root = folder / "workspace"
    root.mkdir(exist_ok=True)
    return WorkspaceFiles(root=root, quota=quota, uid=os.geteuid(), gid=os.getegid())


def rule_of(action: Callable[[], object]) -> str:
    with pytest.raises(Refused) as refused:
        action()
    return refused.value.rule


def test_what_is_written_is_read_and_listed(tmp_path: Path, way: str) -> None:
    space = workspace(tmp_path)
    entry = space.write("out/rows.csv", b"a,b\n1,2\n")
    assert space.read("out/rows.csv") == FileContent(body=b"a,b\n1,2\n", offset=0, size=8, mime="text/csv")
    assert [(each.path, each.kind) for each in space.list().entries] == [("out", "folder"), ("out/rows.csv", "file")]
    assert entry == FileEntry(path="out/rows.csv", kind="file", size=8, changed=entry.changed, mime="text/csv")


def test_a_range_is_read(tmp_path: Path) -> None:
    space = workspace(tmp_path)
    space.write("a", [b"0123", b"4567"])
    assert (space.read("a", offset=2, length=3).body, space.read("a", offset=6).body) == (b"234", b"67")
    assert (space.read("a", offset=99).body, space.read("a", offset=1, length=99).body) == (b"", b"1234567")


def test_a_file_is_replaced_whole_and_no_draft_stays(tmp_path: Path) -> None:
    space = workspace(tmp_path)
    space.write("a", b"old")
    space.write("a", b"new")
    assert (space.read("a").body, os.listdir(space.root)) == (b"new", ["a"])


def test_an_upload_that_fails_half_way_changes_nothing(tmp_path: Path) -> None:
    def pieces() -> Generator[bytes]:
        yield b"half"
        raise ConnectionError

    space = workspace(tmp_path)
    space.write("a", b"old")
    with pytest.raises((ConnectionError, Refused)):
        space.write("a", pieces())
    assert (space.read("a").body, os.listdir(space.root)) == (b"old", ["a"])


def test_pages_cover_everything_once_and_in_order(tmp_path: Path) -> None:
    space = workspace(tmp_path)
    names = [f"{number:02}" for number in range(25)]
    for name in names:
        (space.root / name).touch()
    found: list[str] = []
    after: str | None = ""
    while after is not None:
        page = space.list(after=after, limit=10)
        found += [entry.path for entry in page.entries]
        after = page.next
    assert found == names


@pytest.mark.requirement("T8")
@pytest.mark.parametrize("path", ["../secret", "a/../../secret", "/etc/passwd", "..", "./a", "a//b", "a\0b", "a/" * 200, "x" * 300, "\\x2e\\x2e/secret", "\\x2e.", "a\\x2fb", "\\x00"])  # fmt: skip
def test_a_path_that_leads_out_is_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "secret").write_text("secret")
    space = workspace(tmp_path)
    for action in (lambda: space.read(path), lambda: space.write(path, b""), lambda: space.delete(path)):
        assert rule_of(action).startswith("file.")
    assert (tmp_path / "secret").read_text() == "secret"


@pytest.mark.requirement("T8")
def test_links_are_never_followed(tmp_path: Path, way: str) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "inner").write_text("secret")
    space = workspace(tmp_path)
    (space.root / "link").symlink_to(tmp_path / "secret")
    (space.root / "door").symlink_to(tmp_path / "folder")
    (space.root / "inside").symlink_to("door/inner")
    for path in ("link", "door/inner", "inside", "door"):
        rule_of(lambda path=path: space.read(path))
    for path in ("link", "door/new", "door/inner"):
        rule_of(lambda path=path: space.write(path, b"overwritten"))
    assert {entry.kind for entry in space.list().entries} == {"other"}
    space.delete("door")
    assert (tmp_path / "secret").read_text() == (tmp_path / "folder" / "inner").read_text() == "secret"
    assert os.listdir(tmp_path / "folder") == ["inner"]


@pytest.mark.requirement("T8")
def test_a_second_name_of_a_file_is_refused(tmp_path: Path, way: str) -> None:
    (tmp_path / "secret").write_text("secret")
    space = workspace(tmp_path)
    os.link(tmp_path / "secret", space.root / "twin")
    assert rule_of(lambda: space.read("twin")) == "file.links"
    assert rule_of(lambda: space.write("twin", b"x")) == "file.kind"
    assert [entry.kind for entry in space.list().entries] == ["other"]


@pytest.mark.requirement("T8")
def test_pipes_and_sockets_are_refused_without_waiting(tmp_path: Path, way: str) -> None:
    space = workspace(tmp_path)
    os.mkfifo(space.root / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(space.root / "socket"))
        for path in ("pipe", "socket"):
            assert rule_of(lambda path=path: space.read(path)) == "file.kind"
    if os.geteuid() == 0:
        os.mknod(space.root / "device", 0o600 | 0o020000, os.makedev(1, 5))
        assert rule_of(lambda: space.read("device")) == "file.kind"
    space.delete("pipe")
    assert "pipe" not in os.listdir(space.root)


@pytest.mark.requirement("T8")
def test_a_file_full_of_holes_is_read_in_ranges_only_and_fills_the_quota(tmp_path: Path) -> None:
    space = workspace(tmp_path)
    with open(space.root / "sparse", "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(LimitExceeded) as exceeded:
        space.read("sparse")
    assert exceeded.value.limit == "read_bytes"
    assert space.read("sparse", offset=1 << 39, length=4).body == bytes(4)
    assert len(space.read("sparse", length=1 << 40).body) == files.READ_BYTES
    with pytest.raises(LimitExceeded):
        space.write("more", b"x")
    assert measure_disk_usage(space.root) < 1 << 20


@pytest.mark.parametrize(
    ("quota", "limit"),
    [
        (FileQuota(bytes=10, files=9, file_bytes=99), "workspace_mb"),
        (FileQuota(bytes=99, files=9, file_bytes=10), "file_mb"),
        (FileQuota(bytes=99, files=0, file_bytes=99), "workspace_files"),
    ],
)
def test_what_does_not_fit_is_not_written(tmp_path: Path, quota: FileQuota, limit: str) -> None:
    space = workspace(tmp_path, quota)
    with pytest.raises(LimitExceeded) as exceeded:
        space.write("a", [b"123456", b"123456"])
    assert (exceeded.value.limit, os.listdir(space.root)) == (limit, [])


@pytest.mark.requirement("T8")
def test_odd_names_are_shown_escaped_and_can_be_read_and_deleted_by_that(tmp_path: Path) -> None:
    space = workspace(tmp_path)
    names = [b"new\nline", b"\xff\xfe", "\u202egnp.exe".encode(), b"back\\slash", b"\x1b[2J", "\u2028".encode(), "ünï".encode()]
    for name in names:
        with open(os.fsencode(space.root) + b"/" + name, "wb") as file:
            file.write(name)
    listed = [entry.path for entry in space.list().entries]
    assert all(path.isprintable() for path in listed)
    assert {space.read(path).body for path in listed} == set(names)
    for path in listed:
        space.delete(path)
    assert os.listdir(space.root) == []


@pytest.mark.parametrize("name", ["new\nline", "\u202egnp.exe", "\udcff", "back\\slash", "\x1b[2J", ""])
def test_odd_names_are_not_written(tmp_path: Path, name: str) -> None:
    space = workspace(tmp_path)
    rule_of(lambda: space.write(name, b"x"))
    assert os.listdir(space.root) == []


@given(st.binary(min_size=1, max_size=255).filter(lambda name: b"/" not in name and b"\0" not in name and name not in (b".", b"..")))  # fmt: skip
def test_any_name_on_disk_is_shown_and_found_again(name: bytes) -> None:
    assert escape_name(name).isprintable()
    assert check_path(escape_name(name)) == CheckedPath((name,))


@given(st.text(max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_text_names_anything_outside(tmp_path: Path, path: str) -> None:
    try:
        parts = check_path(path).parts
    except Refused:
        return
    joined = os.path.normpath(os.path.join(b"/workspace", *parts))
    assert joined == b"/workspace" or joined.startswith(b"/workspace/")


@pytest.mark.requirement("T8")
def test_a_folder_swapped_for_a_link_meanwhile_leads_nowhere(tmp_path: Path, way: str) -> None:  # noqa: C901
    """One thread swaps ``door`` between a folder and a link to the outside while the host reads, writes and lists."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("secret")
    space = workspace(tmp_path)
    (space.root / "real").mkdir()
    (space.root / "real" / "file").write_text("own")
    (space.root / "link").symlink_to(outside)
    door, stop, swaps = space.root / "door", threading.Event(), [0]

    def swap() -> None:
        while not stop.is_set():
            for name in ("real", "link"):
                try:
                    os.rename(space.root / name, door)
                    os.rename(door, space.root / name)
                except OSError:  # the host has made a folder of that name meanwhile: out of the way with it
                    swaps[0] += 1
                    os.rename(door, tmp_path / f"away-{swaps[0]}")

    thread = threading.Thread(target=swap)
    thread.start()
    seen: set[bytes] = set()
    naive: set[bytes] = set()
    try:
        # Until the unguarded read was led astray, which proves that the race is real, and ours was tried as often.
        for attempt in range(200_000):
            for collect, read in ((naive, lambda: (door / "file").read_bytes()), (seen, lambda: space.read("door/file").body)):
                try:
                    collect.add(read())
                except (OSError, NotFound, Refused):
                    pass
            if attempt % 50 == 0:
                try:
                    space.write("door/new", b"x")
                except (NotFound, Refused):
                    pass
                space.list()
            if attempt > 2_000 and b"secret" in naive and b"own" in seen:
                break
    finally:
        stop.set()
        thread.join()
    assert (naive >= {b"secret"}, seen, os.listdir(outside)) == (True, {b"own"}, ["file"])


def test_a_folder_is_deleted_with_everything_in_it_and_nothing_else(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("kept")
    space = workspace(tmp_path)
    space.write("tree/a/b/c", b"x")
    (space.root / "tree" / "a" / "link").symlink_to(outside)
    space.delete("tree")
    assert (os.listdir(space.root), (outside / "file").read_text()) == ([], "kept")


@pytest.mark.requirement("T8")
def test_a_tree_of_any_depth_is_deleted(tmp_path: Path) -> None:
    space = workspace(tmp_path)
    here = os.open(space.root, os.O_RDONLY)
    for _ in range(3_000):  # deeper than Python's stack, the longest path and the descriptors we may have
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    assert len(space.list().entries) == 100
    space.delete("d")
    assert os.listdir(space.root) == []


def test_what_is_not_there_is_not_found(tmp_path: Path, way: str) -> None:
    space = workspace(tmp_path)
    for action in (lambda: space.read("nothing"), lambda: space.delete("nothing"), lambda: space.read("no/thing")):
        with pytest.raises(NotFound):
            action()
