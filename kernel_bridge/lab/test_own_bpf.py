"""BPF objects of one's own: compiled, loaded, and run as schemes in the lab and on this machine's kernel."""

import shutil
import subprocess
from pathlib import Path

import pytest

from leogym.common.errors import InputError
from leogym.kernel_bridge.bridge import own_objects
from leogym.kernel_bridge.bridge import process as bridge_process
from leogym.kernel_bridge.lab import image, lab_command, links, own_bpf, served_in_guest, virtual_run
from leogym.kernel_bridge.runner.leo_links import LeoLinks
from leogym.kernel_bridge.runner.run import Run, check
from tests.support.lateness import Lateness
from tests.support.real_time import on_a_quiet_machine, skip_if_invalid
from tests.support.scenarios import one_link, scenario

LACK = links.missing() or (None if shutil.which("clang") else "no clang")
if LACK is None:
    LACK = served_in_guest.missing(image.latest())
pytestmark = pytest.mark.skipif(LACK is not None, reason=LACK or "")
LACK_HERE = LeoLinks().missing() or bridge_process.missing()

SOURCE = Path(__file__).resolve().parents[2] / "tests/support/aimd.bpf.c"
LINK = {"rate_mbps": 12, "delay_ms": 25, "queue": {"packets": 25}}
NAMES = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
LATE_MS = 50.0


@pytest.fixture
def objects(tmp_path, monkeypatch):
    """Register objects in a folder of the test."""
    monkeypatch.setattr(own_objects, "folder", lambda: tmp_path / "bpf")
    return tmp_path / "bpf"


def _written(folder, before="", after=""):
    text = SOURCE.read_text()
    assert before in text
    (folder / "aimd.bpf.c").write_text(text.replace(before, after, 1) if before else text)
    return folder / "aimd.bpf.c"


def test_an_aimd_with_renos_constants_is_reno_and_another_factor_is_another_scheme(objects, tmp_path):
    # Reno halves what is in flight, which can be a packet less than the window.
    # An object's externs of this kind need the kernel's configuration.
    config = 'extern unsigned long CONFIG_HZ __attribute__((section(".kconfig")));'
    halving = _written(tmp_path, "#define BETA 7 / 10", f"{config}\n#define BETA CONFIG_HZ / (2 * CONFIG_HZ)")
    assert own_bpf.register(halving, "halving")[0] == "linux:halving"
    compiled = tmp_path / "mine.o"
    line = ["clang", "-O2", "-g", "-target", "bpf", "-mcpu=v3", "-c", str(SOURCE), "-o", str(compiled)]
    subprocess.run(line, check=True)
    scheme, log = own_bpf.register(compiled, None)
    assert (scheme, log.is_file()) == ("linux:aimd", True)
    reno, halving, aimd = (
        virtual_run.execute(one_link(6, LINK, scheme), {}).flows[0]
        for scheme in ("reno", "linux:halving", "linux:aimd")
    )
    assert halving["goodput_mbps"] == pytest.approx(reno["goodput_mbps"], rel=0.01)
    assert halving["rtt_mean_ms"] == pytest.approx(reno["rtt_mean_ms"], rel=0.01)
    assert aimd["rtt_mean_ms"] > 1.02 * reno["rtt_mean_ms"]


@pytest.mark.real_time
@pytest.mark.skipif(LACK_HERE is not None, reason=LACK_HERE or "")
def test_an_object_behaves_alike_in_the_lab_and_on_this_machines_kernel(objects, tmp_path):
    own_bpf.register(_written(tmp_path), None)
    before = NAMES.read_text()
    described = scenario(8, {"l": LINK}, {"scheme": "linux:aimd", "route": ["l"]})
    lateness = Lateness(prompt=True)
    planned = check(described, {}, LeoLinks(), {})
    with on_a_quiet_machine(), Run(planned, LeoLinks()) as run, lateness:
        run.begin()
        here = run.finish()
    assert NAMES.read_text() == before
    lateness.skip_above(LATE_MS)
    skip_if_invalid(here.invalid)
    lab = virtual_run.execute(described, {}).flows[0]
    print({name: (lab[name], here.flows[0][name]) for name in ("goodput_mbps", "rtt_mean_ms")})
    assert here.flows[0]["goodput_mbps"] == pytest.approx(lab["goodput_mbps"], rel=0.02)
    assert here.flows[0]["rtt_mean_ms"] == pytest.approx(lab["rtt_mean_ms"], rel=0.04)


@pytest.mark.parametrize(
    ("before", "after", "rule"),
    [
        ("u32 acked = arg", "u32 acked = args", r"^\S+aimd\.bpf\.c:37: use of undeclared identifier"),
        ('.name = "aimd"', '.name = "cubic"', r"cubic: a congestion control of that name exists already"),
        ('.name = "aimd"', '.name = ""', r"aimd: the tcp_congestion_ops has no name"),
        ('SEC(".struct_ops")', 'SEC(".data")', r"no struct tcp_congestion_ops in a section \.struct_ops"),
        ("arguments[2]", "arguments[9]", r"the verifier refuses aimd_avoid: .*invalid"),
        ("BETA;", "BETA + *(u32 *)8;", r"the verifier refuses aimd_ssthresh: "),
        ("tcp_reno_undo_cwnd(struct", "tcp_undo(struct", r"this kernel has no tcp_undo for BPF programs"),
    ],
)
def test_an_object_that_does_not_work_is_one_line_that_names_the_log(objects, tmp_path, before, after, rule):
    source = _written(tmp_path, before, after)
    if "tcp_undo" in after:
        source.write_text(source.read_text().replace("tcp_reno_undo_cwnd((", "tcp_undo(("))
    with pytest.raises(InputError, match=rule) as caught:
        own_bpf.register(source, None)
    message = str(caught.value)
    assert "\n" not in message
    log = Path(message.rsplit(": ", 1)[1])
    assert log.is_file()
    assert "verifier" not in rule or "BEGIN PROG LOAD LOG" in log.read_text()
    assert own_objects.registered() == {}


def test_another_file_or_a_parameter_is_refused(objects, tmp_path):
    other = tmp_path / "other.o"
    subprocess.run(["clang", "-c", "-x", "c", "-", "-o", str(other)], input=b"int x;", check=True)
    with pytest.raises(InputError, match=r"other\.o: lab module: not a BPF object: compile it with clang"):
        own_bpf.register(other, None)
    line = lab_command.parser().parse_args(["module", str(SOURCE), "--set", "beta=1"])
    with pytest.raises(InputError, match="--set: a BPF object has no parameters"):
        lab_command.run(line)
    with pytest.raises(InputError, match=r"none\.o: lab module: no such file"):
        own_bpf.register(tmp_path / "none.o", None)
