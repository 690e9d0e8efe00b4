"""mm-leo when it is killed, and its messages when it lacks rights or fails."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from leogym.kernel_bridge.shell import missing, program

pytestmark = pytest.mark.real_time

LIMIT_S = 60
"""Only guards against hangs."""
LINK = ["--rate-mbps=10", "--delay-ms=1"]
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

LACK = missing()
needs_program = pytest.mark.skipif(LACK is not None, reason=LACK or "")
needs_root = pytest.mark.skipif(
    LACK is not None or os.geteuid() != 0, reason=LACK or "mm-leo: its tests make namespaces as root"
)

KILLED = """
import json, os, random, select, signal, socket, struct, subprocess, sys, time
from pathlib import Path

TRIALS = 20
shell = sys.argv[1]

def ip(*words):
    subprocess.run(["ip", *words], check=True)

def tables():
    # NFT_MSG_GETTABLE, a dump: the names are in the answer.
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12) as netlink:
        netlink.bind((0, 0))
        netlink.send(struct.pack("=IHHIIBBH", 20, 10 << 8 | 1, 0x301, 1, 0, 2, 0, 0))
        return netlink.recv(1 << 16).count(b"mm-leo-leo")

def state():
    settings = ["ip_forward", "conf/all/forwarding", "tcp_congestion_control"]
    return {
        "interfaces": sorted(os.listdir("/sys/class/net")),
        "routes": Path("/proc/net/route").read_text(),
        "tables": tables(),
        "settings": [Path("/proc/sys/net/ipv4", name).read_text() for name in settings],
        "mounts": Path("/proc/self/mounts").read_text(),
    }

def others():
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]

subprocess.run(["mount", "-t", "sysfs", "sysfs", "/sys"], check=True)
ip("link", "set", "lo", "up")
# With a further interface, addresses are translated.
ip("link", "add", "on", "type", "veth", "peer", "name", "other")
ip("link", "set", "on", "up")
Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
before = state()
draw = random.Random(1)
script = "sleep 1000 & setsid sleep 1000 & (sleep 1000 &) ; echo up; exec sleep 1000"
seen = 0
for trial in range(TRIALS):
    process = subprocess.Popen([shell, "--rate-mbps=10", "--delay-ms=1", "--", "sh", "-c", script],
                               stdout=subprocess.PIPE)
    if trial % 2:
        process.stdout.readline()
        during = state()
        assert during["tables"] == 1 and "leo0" in during["interfaces"], during
        seen += 1
    else:
        time.sleep(draw.uniform(0, 0.02))  # any time during its setup
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    while left := others():
        for pid in left:
            try:
                end = os.pidfd_open(pid)
            except ProcessLookupError:
                continue
            assert select.select([end], [], [], 30)[0], f"a process outlived its shell in trial {trial}"
            os.close(end)
            try:
                os.waitpid(pid, os.WNOHANG)  # orphans become this process's children
            except ChildProcessError:
                pass
    assert state() == before, (trial, state(), before)
print(json.dumps(seen))
"""


def in_namespaces(*command, **more):
    unshare = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]
    return subprocess.run(
        [*unshare, *map(str, command)],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        **more,
    )


@needs_root
def test_killed_at_any_time_it_leaves_no_process_interface_route_rule_or_setting_behind():
    done = in_namespaces(sys.executable, "-I", "-c", KILLED, program())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == 10


@needs_root
def test_asked_to_end_it_ends_its_command_and_writes_its_report(tmp_path):
    report = tmp_path / "report"
    # $PPID is the supervisor; its parent is mm-leo.
    end = "kill -TERM $(ps -o ppid= -p $PPID); exec sleep 1000"
    done = in_namespaces(program(), *LINK, f"--report={report}", "--", "sh", "-c", end)
    assert done.returncode == 128 + 15
    assert json.loads(report.read_text())["valid"] is True


@needs_root
@pytest.mark.parametrize(
    ("command", "status"),
    [(["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -9 $$"], 137), (["/absent"], 127)],
)
def test_the_commands_status_comes_back(command, status):
    done = in_namespaces(program(), *LINK, "--", *command)
    assert done.returncode == status
    assert ("mm-leo: /absent: No such file or directory" in done.stderr) == (status == 127)


@contextlib.contextmanager
def ordinary_users_copy():
    """Copy the program to a folder where every user may run it."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        copy = Path(shutil.copy(program(), folder))
        copy.chmod(0o755)
        yield copy


def as_nobody_with_tun(mode, *command):
    """Run ``command`` as nobody with a /dev/net/tun of ``mode``, independent of this machine's."""
    node = (
        'folder=$(mktemp -d) && mount -t tmpfs -o mode=755 tmpfs "$folder" && '
        f'mknod -m {mode} "$folder/tun" c 10 200 && mount --bind "$folder/tun" /dev/net/tun && '
        'umount --lazy "$folder" && rmdir "$folder" && exec "$@"'
    )
    return in_namespaces("sh", "-c", node, "sh", *NOBODY, *command)


@needs_root
@pytest.mark.parametrize(
    ("mode", "line"),
    [
        ("0666", "a TUN device needs CAP_NET_ADMIN here: start this as root, or in namespaces of your own: "),
        ("0600", "/dev/net/tun: this user may not open it: start this as root, or let everyone open it, "),
    ],
)
def test_an_ordinary_user_without_rights_gets_one_line(mode, line):
    with ordinary_users_copy() as copy:
        done = as_nobody_with_tun(mode, copy, *LINK, "--", "true")
    assert done.returncode == 125, done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"mm-leo: {line}")


@needs_root
@pytest.mark.parametrize("mode", ["0666", "0600"])
def test_in_a_user_namespace_an_ordinary_user_needs_only_to_open_the_device(mode):
    island = ["unshare", "--user", "--map-root-user", "--net"]
    if subprocess.run([*NOBODY, *island, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("this machine lets no ordinary user make a user namespace")
    with ordinary_users_copy() as copy:
        done = as_nobody_with_tun(
            mode, *island, copy, *LINK, "--", "sh", "-c", "ip -brief address show ingress"
        )
    if mode == "0600":
        assert done.returncode == 125
        assert done.stderr.count("\n") == 1
        assert done.stderr.startswith("mm-leo: /dev/net/tun: this user may not open it: ")
        return
    assert done.returncode == 0, done.stderr
    assert "100.64.0.2 peer 100.64.0.1" in done.stdout


@needs_root
def test_setuid_root_it_reads_and_writes_what_its_caller_may_and_no_more(tmp_path):
    tmp_path.chmod(0o755)
    secret, private = tmp_path / "secret", tmp_path / "private"
    secret.write_text("nobody's business\n")
    secret.chmod(0o600)
    private.mkdir()
    # The copy lies on a file system that only these namespaces see.
    prepare = 'mount -t tmpfs -o mode=755 tmpfs "$0" && cp "$1" "$0/mm-leo" && chmod 4755 "$0/mm-leo" && '
    nobody = " ".join(NOBODY)

    def attempt(options):
        script = f'{prepare} mount --bind "$0" /mnt && {nobody} /mnt/mm-leo {options}'
        return in_namespaces("sh", "-c", script, private, program())

    link = " ".join(LINK)
    allowed = attempt(f"{link} -- sh -c 'id -u; grep CapEff /proc/self/status'")
    assert allowed.stdout.split() == ["65534", "CapEff:", "0000000000000000"], allowed.stderr
    for options, name in [
        ("/root/secret", "/root/secret"),
        (f"{link} --log=/root/mm-leo-test -- true", "/root/mm-leo-test"),
    ]:
        refused = attempt(options)
        assert refused.returncode == 125
        assert refused.stderr.startswith(f"mm-leo: {name}: cannot be ")
        assert "Permission denied" in refused.stderr
    assert not Path("/root/mm-leo-test").exists()


@needs_program
def test_a_wrong_command_line_is_told_in_one_line_without_rights():
    done = subprocess.run([str(program()), "--loss=2"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "mm-leo: --loss: 2: must lie in [0, 1]\n")
