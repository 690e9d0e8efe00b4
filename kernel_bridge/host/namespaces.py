"""Start programs of `kernel_bridge.inside` as the first process of private namespaces, with a folder."""

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import leogym

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
FOLDERS = Path("/tmp")  # of sessions; not $TMPDIR, which other users may not be able to access
PREFIX = "leogym-"
_PACKAGES = Path(leogym.__file__).parents[1]  # where `leogym` is imported from


def start_in_namespaces(program: str, session: Path, descriptor: int | None = None) -> subprocess.Popen[str]:
    """Start a program as the first process of new mount, network and PID namespaces, which end with it.

    Args:
        program: a module of `kernel_bridge.inside`, which runs as root and without site-packages.
        session: the session's file, the program's argument.
        descriptor: a descriptor for the program, closed in this process.
    """
    # --pdeathsig ends unshare with this process, --kill-child the namespaces with unshare.
    start = ["setpriv", "--pdeathsig", "KILL"]
    start += ["unshare", "--kill-child", "--pid", "--fork", "--mount-proc", "--net"]
    start += ["--mount", "--propagation", "private", "--"]
    start += [sys.executable, "-S", "-P", "-m", f"leogym.kernel_bridge.inside.{program}"]
    try:
        return subprocess.Popen(
            [*start, str(session)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env={"PATH": PATH, "LANG": "C.UTF-8", "PYTHONPATH": str(_PACKAGES)},
            start_new_session=True,
            pass_fds=() if descriptor is None else (descriptor,),
        )
    finally:
        if descriptor is not None:
            os.close(descriptor)


def in_namespaces(program: str, session: Path, timeout_s: float | None, name: str) -> tuple[int, str, str]:
    """Run a program as `start_in_namespaces` does; return exit status, standard output and standard error.

    Raises:
        TimeoutError: the program did not end within ``timeout_s``; the message begins with ``name``.
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
    """Make a folder owned by root and in it ``work``, owned by the ordinary user; remove them afterwards.

    The first folder also has an empty folder ``private``, the mount point for a session's programs.
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
    """Return user and group of the user who called sudo, else of the account ``nobody``."""
    uid, gid = int(os.environ.get("SUDO_UID", 0)), int(os.environ.get("SUDO_GID", 0))
    if uid and gid:
        return uid, gid
    nobody = pwd.getpwnam("nobody")
    return nobody.pw_uid, nobody.pw_gid
