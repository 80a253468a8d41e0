"""What a program consists of is told from its files, and a home is never opened for a program that lies in it."""

import os
from pathlib import Path

import pytest

from gristmill.sandbox.confine.program_needs import find_needed_files


def _program(path: Path, first: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{first}\n" if first else "\x7fELF")
    path.chmod(0o755)
    return path


def _venv(home: Path, base: Path) -> Path:
    _program(home / "bin" / "python")
    (home / "pyvenv.cfg").write_text(f"home = {base / 'bin'}\nversion = 3.11.7\n")
    return home


def test_a_single_binary_is_itself(tmp_path: Path) -> None:
    program = _program(tmp_path / "tools" / "server")
    assert find_needed_files(str(program), "") == (str(program),)


def test_a_script_of_a_virtual_environment_brings_it_and_the_libraries_of_its_base(tmp_path: Path) -> None:
    base = tmp_path / "python"
    (base / "lib" / "python3.11").mkdir(parents=True)
    venv = _venv(tmp_path / "venv", base)
    script = _program(venv / "bin" / "server", f"#!{venv}/bin/python")
    assert {str(venv), str(base / "lib"), str(script)} <= set(find_needed_files(str(script), ""))


def test_a_link_in_the_users_own_bin_leads_to_the_environment_behind_it(tmp_path: Path) -> None:
    venv = _venv(tmp_path / "home" / ".local" / "share" / "uv" / "tools" / "server", Path("/usr"))
    _program(venv / "bin" / "server", f"#!{venv}/bin/python")
    link = tmp_path / "home" / ".local" / "bin" / "server"
    link.parent.mkdir(parents=True)
    link.symlink_to(venv / "bin" / "server")
    found = find_needed_files(str(link), "")
    assert str(venv) in found
    assert not {str(tmp_path / "home"), str(tmp_path / "home" / ".local"), str(link.parent)} & set(found)


def test_a_node_package_brings_the_folder_of_all_packages_and_node(tmp_path: Path) -> None:
    packages = tmp_path / "project" / "node_modules"
    _program(packages / "server" / "dist" / "index.js", "#!/usr/bin/env node")
    (packages / ".bin").mkdir()
    (packages / ".bin" / "server").symlink_to("../server/dist/index.js")
    node = _program(tmp_path / "nvm" / "v24" / "bin" / "node")
    found = find_needed_files(str(packages / ".bin" / "server"), str(node.parent))
    assert {str(packages), str(node)} <= set(found)
    assert str(tmp_path / "project") not in found


def test_env_with_options_still_names_the_interpreter(tmp_path: Path) -> None:
    script = _program(tmp_path / "server", "#!/usr/bin/env -S A=1 deno run --quiet")
    deno = _program(tmp_path / "elsewhere" / "deno")
    assert str(deno) in find_needed_files(str(script), str(deno.parent))


def test_a_program_in_the_bin_of_a_home_opens_neither_the_home_nor_its_lib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "lib" / "python3.12").mkdir(parents=True)
    (tmp_path / "lib" / "letters").mkdir()
    program = _program(tmp_path / "bin" / "server")
    assert set(find_needed_files(str(program), "")) == {str(program), str(tmp_path / "lib" / "python3.12")}


def test_links_that_lead_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert len(find_needed_files(str(tmp_path / "a"), os.defpath)) < 64
