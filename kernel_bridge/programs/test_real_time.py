"""Programs in real time on this machine's TCP."""

from pathlib import Path

import pytest

from leogym.common.errors import InputError
from leogym.configs import program_run
from leogym.kernel_bridge.programs import real_time
from leogym.kernel_bridge.runner.leo_links import LeoLinks
from tests.support.real_time import machine_state, on_a_quiet_machine

pytestmark = pytest.mark.real_time

LACK = LeoLinks().missing()
PYTHON = "/usr/bin/python3"  # the ordinary user may not be able to read others
needs_kernel = pytest.mark.skipif(LACK is not None or not Path(PYTHON).exists(), reason=LACK or PYTHON)
CLIENT = """
import os, socket, sys, time
begun = time.monotonic()
with socket.create_connection(("server", 8000)) as connection:
    print(os.getuid() != 0, connection.getpeername()[0], time.monotonic() - begun >= 0.04, sys.argv[1])
open("out", "w").write("a result")
os.symlink("/etc/shadow", "link")
sys.exit(3)
"""
DATA = {
    "links": {"l": {"rate_mbps": 10, "delay_ms": 20}},
    "hosts": {
        "server": {"programs": {"web": {"command": f"{PYTHON} -m http.server 8000", "listens": 8000}}},
        "client": {
            "behind": "l",
            "programs": {"client": {"command": f"{PYTHON} client.py word"}},
            "results": ["out", "link", "absent"],
        },
    },
    "flows": [{"scheme": "cubic", "route": ["l"]}],
    "limit_s": 20,
}


@needs_kernel
def test_a_client_reaches_its_server_behind_the_link_and_the_machine_stays_as_it_was(tmp_path):
    (tmp_path / "client.py").write_text(CLIENT)
    before = machine_state()
    with on_a_quiet_machine():
        finished = real_time.execute(program_run.parse(DATA, "test"), tmp_path, {}, tmp_path / "out")
    assert machine_state() == before
    assert finished.status == 3
    assert (tmp_path / "out/client/client.stdout").read_text().split()[2:] == ["True", "word"]
    assert (tmp_path / "out/client/out").read_text() == "a result"
    assert not (tmp_path / "out/client/link").exists(), "a link out of the working folder is no result"
    assert finished.warnings[:2] == ["client:link: no such result", "client:absent: no such result"]


@needs_kernel
def test_what_only_the_lab_can_do_is_one_line(tmp_path):
    described = program_run.parse(DATA | {"unix_time": "2030-01-01T00:00:00Z"}, "test")
    with pytest.raises(InputError, match="unix_time: programs see this machine's clock"):
        real_time.execute(described, tmp_path, {}, tmp_path / "out")
