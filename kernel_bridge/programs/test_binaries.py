"""What a program needs is found on this machine, and what it lacks is one line."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from leogym.common.errors import InputError
from leogym.kernel_bridge.programs.binaries import Binaries


def _files(word, folder=Path()):
    binaries = Binaries()
    binaries.add_command(word, folder, "it")
    return binaries.files


def _script(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def _compiled(folder, source, *options):
    program = folder / "program"
    (folder / "program.c").write_text(source)
    subprocess.run(["cc", "-o", program, folder / "program.c", *options], check=True)
    return str(program)


def test_a_dynamic_program_has_its_loader_and_libraries_and_a_static_one_is_alone(tmp_path):
    source = "#include <math.h>\nint main(int n, char **v) { return v[0][0] * sin(n); }"
    names = {Path(place).name for place in _files(_compiled(tmp_path, source, "-lm"))}
    assert {"program", "libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"} <= names
    assert _files(_compiled(tmp_path, source, "-lm", "-static")).keys() == {str(tmp_path / "program")}


def test_a_script_brings_its_interpreter_and_python_its_library(tmp_path):
    script = _script(tmp_path / "script", "#!/usr/bin/env sh\necho\n")
    assert {"/usr/bin/env", shutil.which("sh"), script} <= _files(script).keys()
    names = {Path(place).name for place in _files(sys.executable)}
    assert {"socket.py", "os.py", "libc.so.6"} <= names
    assert "idlelib" not in {part for place in _files(sys.executable) for part in Path(place).parts}


def test_a_shim_of_a_version_manager_is_passed_over(tmp_path, monkeypatch):
    (tmp_path / "shims").mkdir()
    shim = _script(tmp_path / "shims" / "sh", "#!/bin/sh\n")
    monkeypatch.setenv("PATH", f"{Path(shim).parent}:/usr/bin:/bin")
    assert shutil.which("sh") == shim
    assert shim not in _files("sh")
    _script(tmp_path / "shims" / "only-a-shim", "#!/bin/sh\n")
    with pytest.raises(InputError, match=r"^it: only-a-shim: only a version manager's shim is on"):
        _files("only-a-shim")


def test_a_missing_library_is_named(tmp_path):
    (tmp_path / "part.c").write_text("int part(void) { return 0; }")
    library = tmp_path / "libpart.so"
    subprocess.run(["cc", "-shared", "-o", library, tmp_path / "part.c"], check=True)
    source = "int part(void); int main(void) { return part(); }"
    program = _compiled(tmp_path, source, f"-L{tmp_path}", "-lpart")
    library.unlink()
    with pytest.raises(InputError, match=r"^it: .*program: its library .*libpart.so is not on this machine$"):
        _files(program)


def test_what_cannot_run_is_one_line(tmp_path):
    foreign = bytearray(Path(shutil.which("true")).read_bytes())
    foreign[18] = 183
    (tmp_path / "foreign").write_bytes(foreign)
    (tmp_path / "data").write_bytes(b"data")
    _script(tmp_path / "script", "#!/usr/bin/no-such-shell\n")
    for word, rule in {
        "./foreign": "a program for aarch64, but the hosts are x86_64",
        "./data": r"neither a program \(ELF\) nor a script \(#!\)",
        "./script": "its interpreter /usr/bin/no-such-shell is not on this machine",
        "./absent": "no such program",
        "no-such-command": "not on this machine's PATH",
    }.items():
        with pytest.raises(InputError, match=f"^it: .*{rule}$"):
            _files(word, tmp_path)


def test_a_program_outside_the_usual_folders_is_called_by_its_path(tmp_path, monkeypatch):
    _script(tmp_path / "mine", "#!/bin/sh\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert Binaries().add_command("mine", Path(), "it") == str(tmp_path / "mine")
    assert Binaries().add_command("sh", Path(), "it") == "sh"
