"""Run one flow through a pantheon-tunnel on this machine, in private namespaces, to measure its overhead.

Between two machines, start the two programs by hand, as README.md says; their logs are the same.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

from leogym.common.errors import InputError
from leogym.common.units import NS_PER_S
from leogym.kernel_bridge.host import schemes
from leogym.kernel_bridge.host.namespaces import PATH, folders, ordinary_user, start_in_namespaces
from leogym.kernel_bridge.inside.scenario import START_S
from leogym.kernel_bridge.inside.session import RunSession, SessionFlow
from leogym.kernel_bridge.mahimahi import command as mahimahi
from leogym.kernel_bridge.runner.run import PREPARE_S
from leogym.kernel_bridge.runner.run_folder import FIRST_PORT, TooSlowError, raise_for
from leogym.kernel_bridge.tunnel.measure import Logs, measured
from leogym.results.measurement import Measurement

PROGRAMS = ("mm-tunnelserver", "mm-tunnelclient")
ENDS = ("server", "client")


def missing() -> str | None:
    """Return one line about the first thing that `run` lacks on this machine, or None."""
    for program in PROGRAMS:
        if shutil.which(program) is None:
            return (
                f"tunnel: {program} is not installed: no distribution packages it; build and install "
                "github.com/StanfordSNR/pantheon-tunnel (./autogen.sh && ./configure && make install)"
            )
    return mahimahi.missing("tunnel")


def run(scheme: str, duration_s: float, logs: Path) -> Measurement:
    """Run one flow from a tunnel's client to its server, and measure it from the tunnel's logs.

    Args:
        scheme: a congestion control of this machine's kernel.
        duration_s: how long the flow sends.
        logs: folder for the logs of both ends, in ``server/`` and ``client/``.

    Raises:
        InputError: the machine lacks something, or has no such scheme.
        TooSlowError: the machine was too slow.
        RuntimeError: the tunnel could not be set up.
    """
    if (lack := missing()) is not None:
        raise InputError(lack)
    available = [name for name in schemes.available() if name not in schemes.OVER_UDP]
    if scheme not in available:
        raise InputError(f"tunnel: {scheme}: not a scheme that this kernel runs ({', '.join(available)})")
    with folders("tunnel") as (root, work):
        uid, gid = ordinary_user()
        for end in ENDS:
            (work / end).mkdir()
            os.chown(work / end, uid, gid)
        duration_ns = round(duration_s * NS_PER_S)
        flow: SessionFlow = {
            "protocol": "tcp",
            "port": FIRST_PORT,
            "start_ns": 0,
            "stop_ns": duration_ns,
            "rate_bps": 0,
            "bytes": 0,
            "periods": None,
            "workload": None,
            "send": {"level": 2, "scheme": scheme, "log": str(root / "sent")},
            "receive": {"level": 1, "scheme": scheme, "log": str(root / "received")},
        }
        programs = [place for program in PROGRAMS if (place := shutil.which(program)) is not None]
        start_reader, start_writer = os.pipe()
        session: RunSession = {
            "private": str(root / "private"),
            "programs": programs,
            "iptables": True,
            "folder": str(work),
            "result": str(root / "result.json"),
            "start_descriptor": start_writer,
            "uid": uid,
            "gid": gid,
            "env": {"PATH": PATH, "HOME": str(work), "LANG": "C.UTF-8"},
            "shells": [],
            "branches": [],
            "app": "",
            "flows": [flow],
            "aligned": [],
            "lead_ns": 0,
            "start_s": START_S,
            "duration_ns": duration_ns,
            "settings": {},
        }
        file = root / "session.json"
        file.write_text(json.dumps(session))
        try:
            with start_in_namespaces("tunnel_ends", file, start_writer) as process:
                try:
                    _, stderr = process.communicate(timeout=duration_s + 2 * PREPARE_S)
                finally:
                    process.kill()
        except subprocess.TimeoutExpired:
            raise TooSlowError("tunnel: not done in time") from None
        finally:
            os.close(start_reader)
        raise_for(process.returncode, stderr, "tunnel")
        shutil.copytree(work / "client", logs / "client", dirs_exist_ok=True)
        shutil.copytree(work / "server", logs / "server", dirs_exist_ok=True)
    return measured(Logs.read(sender=logs / "client", receiver=logs / "server"), scheme)
