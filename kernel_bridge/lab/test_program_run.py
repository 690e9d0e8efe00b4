"""Programs in the guest. Each run takes some ten seconds of a core."""

import json
import os
import shlex
import shutil
import sys
from pathlib import Path

import polars as pl
import pytest

from leogym.common.errors import InputError
from leogym.configs import program_run
from leogym.kernel_bridge.lab import lab_command, links, virtual_run
from leogym.kernel_bridge.lab import program_run as lab_run
from leogym.kernel_bridge.lab.machine import GuestError
from tests.support.scenarios import path_trace, scenario

LACK = links.missing() or links.LeoInGuest().missing()
pytestmark = pytest.mark.skipif(LACK is not None, reason=LACK or "")

PYTHON = os.path.realpath(sys.executable)
LINK = {"rate_mbps": 20, "delay_ms": 10}
SERVER = """
import socket
server = socket.create_server(("", 7000))
while True:
    connection, _ = server.accept()
    with connection:
        while data := connection.recv(65536):
            connection.sendall(data.upper())
"""
CLIENT = """
import os, socket, sys, time
with socket.create_connection(("server", 7000)) as connection:
    connection.sendall(sys.stdin.buffer.read())
    print(connection.recv(100).decode(), sys.argv[1:], os.environ["MINE"])
    print(os.getcwd(), os.getuid(), socket.gethostname())
print(time.time() // 60 * 60, sorted(os.environ))
open("out", "w").write("a result")
sys.exit(3)
"""
BY_NAME = """
import socket, sys
for family in (socket.AF_INET, socket.AF_INET6):
    with socket.create_connection(socket.getaddrinfo("server", 80, family)[0][4][:2]) as connection:
        print(connection.getpeername()[0])
"""
SEGMENTS = """
import socket, sys
UDP_SEGMENT = 103
server = socket.socket(socket.AF_INET6 if sys.argv[2] == "6" else socket.AF_INET, socket.SOCK_DGRAM)
if sys.argv[1] == "receive":
    server.bind(("", 9000))
    while True:
        data, peer = server.recvfrom(65536)
        server.sendto(len(data).to_bytes(4, "big"), peer)
else:
    server.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 1200)
    server.connect(("198.18.0.1", 9000) if sys.argv[2] == "4" else ("2001:2::1", 9000))
    server.send(bytes(10 * 1200 + 100))
    print([int.from_bytes(server.recv(4), "big") for _ in range(11)])
"""


def _described(client, server=None, **more):
    """Return a run with a client and, if given, a server."""
    programs = {} if server is None else {"server": {"listens": True, **server}}
    data = {
        "links": {"l": LINK},
        "hosts": {
            "server": {"programs": programs},
            "client": {"behind": "l", "programs": {"client": client}, "results": more.pop("results", [])},
        },
        **more,
    }
    return program_run.parse(data, "test")


def _execute(described, out, traces=None, folder=None):
    return lab_run.execute(described, folder or out.parent, traces or {}, out)


def _stdout(out, host="client", program="client"):
    return (out / host / f"{program}.stdout").read_text()


def _content(out):
    return {
        path.relative_to(out): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.name != "machine.json"
    }


def test_a_client_and_a_server_of_ones_own_from_the_command_line_twice_the_same(
    tmp_path, monkeypatch, capsysbinary
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SECRET", "x")
    for name, text in {"server.py": SERVER, "client.py": CLIENT, "input": "hello"}.items():
        Path(name).write_text(text)
    line = f"leogym lab exec --path sd-ny-bp --rate-mbps 50 --server '{PYTHON} server.py' --stdin input"
    line += (
        f" --env MINE=5 --result out --unix-time 2027-05-05T12:00 --pcap -- {PYTHON} client.py --flag 'a b'"
    )
    contents = []
    for out in ("first", "second"):
        monkeypatch.setattr(
            "sys.argv", ["leogym lab", *shlex.split(line)[2:4], "--out", out, *shlex.split(line)[4:]]
        )
        monkeypatch.setattr("sys.argv", ["leogym lab", "exec", "--out", out, *shlex.split(line)[3:]])
        assert lab_command.main() == 3
        contents.append(_content(Path(out)))
    printed = capsysbinary.readouterr()[0].decode().splitlines()
    assert printed[:2] == ["HELLO ['--flag', 'a b'] 5", "/home/user 1000 client"]
    assert printed[2].startswith("1809518400.0 "), "2027-05-05 12:00 UTC"
    assert "SECRET" not in printed[2]
    assert contents[0][Path("client/out")] == b"a result"
    assert contents[0][Path("client/packets.pcap")][:4] == b"\x4d\x3c\xb2\xa1"
    assert contents[0].keys() == contents[1].keys()
    assert [name for name in contents[0] if contents[0][name] != contents[1][name]] == []


def test_three_hosts_share_links_with_a_flow_over_both_versions_of_ip(tmp_path):
    (tmp_path / "by_name.py").write_text(BY_NAME)
    (tmp_path / "segments.py").write_text(SEGMENTS)
    server = {
        "web": {"command": f"{PYTHON} -m http.server --bind :: 80", "listens": 80},
        "four": {"command": f"{PYTHON} segments.py receive 4", "listens": 9000},
    }
    hosts = {
        "server": {"programs": server},
        "gateway": {"behind": "uplink"},
        "home": {
            "behind": "wifi",
            "peer": "gateway",
            "programs": {
                "names": {"command": f"{PYTHON} by_name.py", "start_s": 1},
                "segments": {"command": f"{PYTHON} segments.py send 4", "start_s": 1.5},
            },
        },
    }
    wifi = {"rate_mbps": 5, "delay_ms": 2, "queue": {"packets": 100}}
    data = {"links": {"uplink": LINK, "wifi": wifi}, "hosts": hosts, "limit_s": 20}
    data["flows"] = [{"scheme": "bbr", "route": ["wifi", "uplink"]}]
    finished = _execute(program_run.parse(data, "test"), tmp_path / "out")
    assert finished.status == 0
    assert _stdout(tmp_path / "out", "home", "names") == "198.18.0.1\n2001:2::1\n"
    assert _stdout(tmp_path / "out", "home", "segments") == f"{[1200] * 10 + [100]}\n", "UDP_SEGMENT splits"
    result = json.loads((tmp_path / "out/result.json").read_text())
    [flow] = result["flows"]
    assert flow["stop_s"] == pytest.approx(result["virtual_s"], abs=0.01)
    assert 3 < flow["goodput_mbps"] < 5
    assert {"198.18.0.1:80", "[2001:2::1]:80"} <= {end["remote"] for end in result["connections"]} | {
        end["local"] for end in result["connections"]
    }
    table = pl.read_parquet(tmp_path / "out/directions.parquet")
    assert set(table["direction"]) == {"up", "down"}
    assert set(table["link"]) == {"uplink", "wifi"}


@pytest.mark.skipif(
    shutil.which("openssl") is None or shutil.which("curl") is None, reason="no curl or openssl"
)
def test_curl_trusts_the_certificate_of_a_run(tmp_path):
    (tmp_path / "page").write_text("over TLS")
    server = "openssl s_server -accept 443 -cert tls.crt -key tls.key -WWW"
    client = {"command": "curl -sS https://server/page https://198.18.0.1/page"}
    described = _described(client, {"command": server}, tls=True, unix_time="2040-01-01T00:00:00Z")
    described.hosts["server"].files["page"] = "page"
    finished = _execute(described, tmp_path / "out")
    assert (finished.status, _stdout(tmp_path / "out")) == (0, "over TLSover TLS")


@pytest.mark.skipif(shutil.which("iperf3") is None, reason="no iperf3")
def test_iperf3_gets_what_a_flow_of_the_labs_gets(tmp_path):
    rows = [f"{time},{delay},0,0,0,1,0," for time, delay in ((0, 20), (5, 20), (60, 20))]
    (tmp_path / "path.csv").write_text(path_trace(*rows))
    trace = str(tmp_path / "path.csv")
    traces = {trace: Path(trace).read_bytes()}
    link = {"trace": trace, "rate_mbps": 20}
    client = {"command": "iperf3 -c server -t 8 -C cubic"}
    described = _described(client, {"command": "iperf3 -s -1", "listens": 5201}, links={"l": link})
    assert _execute(described, tmp_path / "out", traces).status == 0
    result = json.loads((tmp_path / "out/result.json").read_text())
    data = max(result["connections"], key=lambda end: end["sent_bytes"])
    flow = {"scheme": "cubic", "route": ["l"], "start_s": data["start_s"], "stop_s": data["start_s"] + 8}
    plain = virtual_run.execute(scenario(10, {"l": link}, flow), traces)
    series = pl.read_parquet(tmp_path / "out/connections.parquet")
    series = series.filter(pl.col("connection") == data["connection"], pl.col("time_s") <= 8)
    rows = plain.flow_series["time_s"] <= 8
    assert series["goodput_mbps"].sum() == pytest.approx(
        plain.flow_series["goodput_mbps"][rows].sum(), rel=0.01
    )
    assert data["rtt_mean_ms"] == pytest.approx(plain.flows[0]["rtt_mean_ms"], rel=0.02)


@pytest.mark.skipif(
    shutil.which("gtlsclient") is None or shutil.which("gtlsserver") is None,
    reason="no ngtcp2: install ngtcp2-client and ngtcp2-server",
)
@pytest.mark.parametrize("scheme", ["cubic", "bbr"])
def test_ngtcp2_carries_a_file_and_the_same_bytes_twice(tmp_path, scheme):
    (tmp_path / "file").write_bytes(bytes(range(256)) * 2000)
    client = "gtlsclient -q --exit-on-all-streams-close --download=. server 443 https://server/file"
    server = f"gtlsserver -q --cc={scheme} --qlog-dir=. * 443 tls.key tls.crt"
    described = _described({"command": client}, {"command": server}, tls=True, pcap=True, results=["file"])
    described.hosts["server"].files["file"] = "file"
    contents = []
    for out in (tmp_path / "first", tmp_path / "second"):
        assert _execute(described, out, folder=tmp_path).status == 0
        contents.append(_content(out))
    assert contents[0][Path("client/file")] == (tmp_path / "file").read_bytes()
    assert contents[0] == contents[1]


def test_servers_that_are_not_ready_and_clients_that_do_not_end_are_one_line(tmp_path):
    (tmp_path / "spin.py").write_text("while True: pass\n")
    client = {"command": f"{PYTHON} spin.py"}
    with pytest.raises(RuntimeError, match=r"server: ended with exit status 7 before it listened: no luck$"):
        _execute(_described(client, {"command": "sh -c 'echo no luck >&2; exit 7'"}), tmp_path / "out")
    with pytest.raises(RuntimeError, match=r"server: does not listen on port 80 after 10 s$"):
        _execute(_described(client, {"command": "sleep 100", "listens": 80}), tmp_path / "out")
    programs = {"spinner": client, "sleeper": {"command": "sleep 100"}}
    hosts = {"server": {}, "client": {"behind": "l", "programs": programs}}
    run = program_run.parse({"links": {"l": LINK}, "hosts": hosts, "limit_s": 1}, "test")
    finished = _execute(run, tmp_path / "out")
    assert finished.status == 124
    not_done, busy, sleeps = finished.warnings
    assert not_done == "spinner: not done after 1 s (--limit-s): it was ended"
    assert "spinner: used the processor for" in busy
    assert sleeps == "sleeper: not done after 1 s (--limit-s): it was ended"


HOSTILE = """
import os, signal, socket
def attempt(name, action):
    try:
        print(name, action())
    except OSError as error:
        print(name, type(error).__name__)
for address in ("10.0.2.2", "192.0.2.1", "127.0.0.53"):
    def connect(address=address):
        with socket.socket() as attempted:
            attempted.settimeout(2)
            attempted.connect((address, 80))
    attempt("connect", connect)
attempt("memory", lambda: os.open("/dev/mem", os.O_RDWR))
attempt("ports", lambda: os.open("/dev/port", os.O_WRONLY))
attempt("port", lambda: os.open("/dev/vport1p2", os.O_WRONLY))
attempt("root", lambda: os.setuid(0))
attempt("chroot", lambda: os.chroot("/tmp"))
attempt("write", lambda: open("/etc/hosts", "w"))
print("processes", sorted(name for name in os.listdir("/proc") if name.isdigit()) == ["1", "2"])
os.symlink("/lab/session.json", "link")
os.symlink("../../../session.json", "up")
os.mkdir("folder")
os.symlink("/etc", "folder/etc")
os.mkfifo("pipe")
open("\\n", "w").write("odd name")
"""


def test_a_hostile_program_reaches_nothing(tmp_path):
    (tmp_path / "hostile.py").write_text(HOSTILE)
    before = sorted(path for path in tmp_path.parent.rglob("*") if "out" not in path.parts)
    names = ["link", "up", "folder", "pipe", "../../../etc/passwd", "/lab/session.json"]
    finished = _execute(_described({"command": f"{PYTHON} hostile.py"}, results=names), tmp_path / "out")
    lines = _stdout(tmp_path / "out").splitlines()
    assert lines == [
        *("connect OSError", "connect OSError", "connect ConnectionRefusedError"),
        *("memory FileNotFoundError", "ports FileNotFoundError", "port FileNotFoundError"),
        *("root PermissionError", "chroot PermissionError", "write PermissionError", "processes True"),
    ]
    returned = {
        str(path.relative_to(tmp_path / "out/client")) for path in (tmp_path / "out/client").rglob("*")
    }
    assert not any(path.is_symlink() for path in (tmp_path / "out").rglob("*"))
    assert {"client.stdout", "client.stderr"} <= returned
    assert all("session" not in name for name in returned)
    assert sorted(path for path in tmp_path.parent.rglob("*") if "out" not in path.parts) == before
    assert len(finished.warnings) >= 4


def test_a_program_that_takes_all_memory_is_one_line(tmp_path):
    (tmp_path / "memory.py").write_text("data = []\nwhile True: data.append(b'x' * (1 << 20))\n")
    client = {"command": f"{PYTHON} memory.py"}
    with pytest.raises(
        GuestError, match=r"^lab: the guest ended before its job: .*(Out of memory|out of memory)"
    ) as caught:
        _execute(_described(client), tmp_path / "out")
    shutil.rmtree(Path(str(caught.value).rsplit(": ", 1)[1]).parent)
    assert not (tmp_path / "out").exists()


def test_what_the_guest_cannot_run_is_one_line(tmp_path):
    for described, rule in (
        (_described({"command": "no-such-program"}), "no-such-program: not on this machine's PATH"),
        (
            _described({"command": "true"}, flows=[{"scheme": "oracle", "route": ["l"]}]),
            "flows.0.scheme: oracle",
        ),
        (
            _described({"command": "true"}, links={"l": LINK | {"queue": {"kind": "codel", "target_ms": 3}}}),
            "target_ms",
        ),
    ):
        with pytest.raises(InputError, match=rule):
            _execute(described, tmp_path / "out")
