"""Private namespaces: a program of `kernel_bridge.inside` as their first process, and a folder for it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
FOLDERS = Path("/tmp")
"""Where sessions have their folders. Not $TMPDIR, which may be closed to others."""
PREFIX = "leogym-"
_PROJECT = Path(__file__).parents[2]


def start_in_namespaces(program: str, session: Path, told: int | None = None) -> subprocess.Popen[str]:
    """Start a program as the first process of new mount, network and PID namespaces.

    Args:
        program: the name of a module in `kernel_bridge.inside`; it runs as root, without site-packages, with
            the session's file as its argument.
        session: that file.
        told: a descriptor to hand on to it, which is closed here.

    Returns:
        A process whose end is that of everything in the namespaces.
    """
    # Both options pass an end on: this process's to unshare, and unshare's to the namespaces.
    start = ["setpriv", "--pdeathsig", "KILL"]
    start += ["unshare", "--kill-child", "--pid", "--fork", "--mount-proc", "--net"]
    start += ["--mount", "--propagation", "private", "--"]
    start += [sys.executable, "-S", "-P", "-m", f"kernel_bridge.inside.{program}"]
    try:
        return subprocess.Popen(
            [*start, str(session)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env={"PATH": PATH, "LANG": "C.UTF-8", "PYTHONPATH": str(_PROJECT)},
            start_new_session=True,
            pass_fds=() if told is None else (told,),
        )
    finally:
        if told is not None:
            os.close(told)


def in_namespaces(program: str, session: Path, timeout_s: float | None, name: str) -> tuple[int, str, str]:
    """Run a program as `start_in_namespaces` does, to its end.

    Args:
        program: the name of a module in `kernel_bridge.inside`.
        session: the file that tells it what to do.
        timeout_s: wall-clock limit, after which everything is ended.
        name: of what runs, for the message.

    Returns:
        Exit status and output.

    Raises:
        TimeoutError: ``timeout_s`` passed.
    """
    process = start_in_namespaces(program, session)
    with process:
        try:
            stdout, stderr = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"{name}: not done after {timeout_s:g} s") from None
        finally:
            process.kill()
    return process.returncode, stdout, stderr


@contextmanager
def folders(name: str) -> Iterator[tuple[Path, Path]]:
    """Make a folder of root's, and in it ``work``, the ordinary user's; remove them afterwards.

    The root folder also has an empty folder ``private``, to mount a session's own programs on.
    """
    root = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{name}-{os.getpid()}-", dir=FOLDERS))
    try:
        root.chmod(0o755)
        (root / "private").mkdir()
        folder = root / "work"
        folder.mkdir()
        if os.geteuid() == 0:
            os.chown(folder, *ordinary_user())
        yield root, folder
    finally:
        shutil.rmtree(root)


def ordinary_user() -> tuple[int, int]:
    """Return user and group of whoever called sudo, else of nobody."""
    uid, gid = int(os.environ.get("SUDO_UID", 0)), int(os.environ.get("SUDO_GID", 0))
    if uid and gid:
        return uid, gid
    nobody = pwd.getpwnam("nobody")
    return nobody.pw_uid, nobody.pw_gid
