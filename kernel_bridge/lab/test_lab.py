"""Boots, runs and faults of the lab. Each test runs a virtual machine for some seconds of a core."""

import hashlib
import json
import os
import random
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import leosim
import numpy as np
import pytest

from leogym.common.errors import InputError
from leogym.configs.scenario import parse
from leogym.evaluation.fidelity import golden
from leogym.kernel_bridge.lab import image, links, machine, qemu, virtual_run
from leogym.kernel_bridge.lab.machine import File, GuestError, Job
from leogym.kernel_bridge.runner.plan import plan

LACK = links.missing()
ENDLESS = "while :; do :; done"
needs_lab = pytest.mark.skipif(LACK is not None, reason=LACK or "")


def _scenario(duration_s, links, *flows, **more):
    data = {"name": "test", "duration_s": duration_s, "links": links, "flows": list(flows)}
    return parse(data | more, "test")


def _run(*arguments, traces=None, **more):
    return virtual_run.execute(_scenario(*arguments, **more), traces or {})


def _on_both(scenario):
    """Return the logs of the lab and of the simulator."""
    [simulated] = leosim.run([scenario.to_json()], {})
    return virtual_run.execute(scenario, {}), simulated


def _failed(rule, *command, **more):
    """Run a command that fails the guest; remove the guest's folder, and return its path."""
    job = Job(command, files={}, folders={}, results=[], virtual_s=30.0, **more)
    with pytest.raises(GuestError, match=rule) as caught:
        machine.run(image.latest(), job, seed=1)
    folder = Path(str(caught.value).rsplit(": ", 1)[1]).parent
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    return str(folder)


def _bytes(log):
    series = [column.tobytes() for table in (log.flow_series, log.link_series) for column in table.values()]
    return json.dumps([log.flows, log.links]).encode() + b"".join(series)


@needs_lab
def test_two_runs_with_one_seed_are_byte_identical_and_another_seed_differs():
    link = {"rate_mbps": 10, "delay_ms": 10, "loss": 0.01}
    first, again, other = (
        _bytes(_run(2, {"l": link}, {"scheme": "cubic", "route": ["l"]}, seed=seed)) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


@needs_lab
def test_round_trips_over_three_hops_are_exact_to_a_fifth_of_a_millisecond_and_flows_see_only_their_links():
    link = {"rate_mbps": 20, "delay_ms": 8}
    log = _run(
        2,
        {"a": link, "b": link, "c": link | {"queue": {"packets": 1000}}},
        {"scheme": "vegas", "route": ["a", "b", "c"], "start_s": 0.5},
        {"scheme": "vegas", "route": ["a"], "extra_delay_ms": 20, "stop_s": 0.4},
        {"scheme": "udp", "route": ["c"], "rate_mbps": 1.2, "start_s": 1.8},
    )
    least = [np.nanmin(log.flow_series["rtt_ms"][log.flow_series["flow"] == flow]) for flow in (0, 1)]
    assert 48 <= least[0] < 48.2 + 3 * 0.6, "three transmissions of 1,500 bytes at 20 Mbit/s"
    assert 56 <= least[1] < 56.2 + 0.6
    assert log.flows[2]["sent_packets"] == 20
    assert log.flows[2]["delivered_packets"] >= 18, "the last ones are on their way"
    assert log.link_names == ["a", "b", "c"]
    for name, counted in zip(log.link_names, log.links, strict=True):
        went = counted["delivered_packets"] + counted["dropped_packets"] + counted["lost_packets"]
        inside = counted["queued_packets"] + counted["in_flight_packets"]
        assert counted["offered_packets"] == went + inside, name


@needs_lab
def test_a_link_loses_the_packets_that_the_simulators_loses():
    links = {name: {"rate_mbps": 12, "delay_ms": 5, "loss": 0.02} for name in ("a", "b")}
    flow = {"scheme": "udp", "route": ["a", "b"], "rate_mbps": 6}
    scenario = _scenario(2, links, flow, seed=7)
    ran, simulated = _on_both(scenario)
    on_kernel, in_simulator = ([link["lost_packets"] for link in log.links] for log in (ran, simulated))
    assert on_kernel == in_simulator
    seeds = {link.name: link.loss_seed for link in leosim.plan_links(scenario.model_dump_json(), {})}
    for link in ran.links:
        drawn = leosim.losses(0.02, seeds[link["link"]], link["offered_packets"] - link["queued_packets"])
        assert link["lost_packets"] == len(drawn) > 10


@needs_lab
def test_applications_end_or_write_slowly_as_the_simulators_do():
    link = {"rate_mbps": 10, "delay_ms": 10}
    flows = [
        {"scheme": "cubic", "route": ["l"], "transfer_bytes": 500_000},
        {"scheme": "cubic", "route": ["l"], "rate_mbps": 2, "start_s": 1},
    ]
    ran, simulated = _on_both(_scenario(3, {"l": link}, *flows, handshake=True))
    transfer, application = ran.flows
    assert transfer["completion_s"] == pytest.approx(simulated.flows[0]["completion_s"], rel=0.02)
    assert transfer["stop_s"] - transfer["start_s"] == pytest.approx(transfer["completion_s"])
    assert transfer["delivered_packets"] == 500_000 // 1448
    assert transfer["goodput_mbps"] == pytest.approx(simulated.flows[0]["goodput_mbps"], rel=0.02)
    assert application["goodput_mbps"] == pytest.approx(2 * 1448 / 1500, rel=0.02)
    assert application["completion_s"] is None
    rows = ran.flow_series["flow"] == 0
    carried = ran.flow_series["goodput_mbps"][rows].sum() * 0.1 / 8
    assert carried == pytest.approx(0.5, rel=1e-6), "the last row is in the series"


@needs_lab
def test_a_hosts_receive_buffer_and_late_acknowledgements_do_as_in_the_simulator():
    link = {"rate_mbps": 20, "delay_ms": 100, "queue": {"kind": "gateway", "bytes": 1_000_000}}
    flow = {"scheme": "cubic", "route": ["l"], "tcp_rmem": [4096, 262_144, 262_144]}
    scenario = _scenario(8, {"l": link}, flow, handshake=True, host_jitter_us=20_000)
    [ran], [simulated] = (log.flows for log in _on_both(scenario))
    assert ran["rtt_mean_ms"] == pytest.approx(simulated["rtt_mean_ms"], rel=0.02)
    assert ran["rtt_mean_ms"] > 205, "acknowledgements come up to 20 ms later"
    assert 3 < ran["goodput_mbps"] < 6, "half of the buffer every 200 ms is 5.2"
    # Since Linux 6.6 the receiver measures the share of payload in its buffer, which is above a half.
    release = tuple(int(part) for part in re.findall(r"\d+", str(image.latest().manifest["kernel"]))[:2])
    goodput, half = ran["goodput_mbps"], simulated["goodput_mbps"]
    assert 1.1 * half < goodput if release >= (6, 6) else goodput == pytest.approx(half, rel=0.05)


@needs_lab
def test_a_link_may_happen_to_lose_nothing_and_a_flow_begin_too_late_to_be_answered():
    log = _run(
        0.5,
        {"l": {"rate_mbps": 2, "delay_ms": 20, "loss": 1e-9}},
        {"scheme": "cubic", "route": ["l"]},
        {"scheme": "cubic", "route": ["l"], "start_s": 0.49},
    )
    assert log.links[0]["lost_packets"] == 0
    assert log.links[0]["delivered_packets"] > 30
    assert [flow["delivered_packets"] > 0 for flow in log.flows] == [True, False]


@needs_lab
def test_a_queue_behind_a_large_bucket_counts_packets_one_by_one():
    # Segments from offload pass such a bucket unsplit: 100 of them are thousands of packets.
    link = {"rate_mbps": 20, "delay_ms": 5, "burst_bytes": 1 << 19, "queue": {"packets": 100}}
    flow = {"scheme": "cubic", "route": ["l"]}
    [ran], [simulated] = (log.flows for log in _on_both(_scenario(4, {"l": link}, flow)))
    assert ran["rtt_mean_ms"] == pytest.approx(simulated["rtt_mean_ms"], rel=0.1)


@needs_lab
def test_linux_own_fq_codel_keeps_the_queue_shorter_than_droptail():
    # Two links in one guest: a run's start takes longer than its seconds.
    link = {"rate_mbps": 10, "delay_ms": 10}
    full, managed = _run(
        3,
        {"full": link | {"queue": {"packets": 200}}, "managed": link | {"queue": {"kind": "fq_codel"}}},
        *({"scheme": "cubic-nohystart", "route": [name]} for name in ("full", "managed")),
    ).flows
    assert full["rtt_p95_ms"] > 150
    assert managed["rtt_p95_ms"] < 0.5 * full["rtt_p95_ms"]
    assert managed["normalized_goodput"] > 0.8


@needs_lab
def test_a_delay_that_rises_ends_slow_start_early_by_its_delays_and_not_by_trains():
    # Linux's hystart_detect. The RTT grows from 200 to 260 ms in the first second while nothing queues.
    rows = "\n".join(f"{ms / 1000},{100 + ms * 0.03:g},200,200,0,1,0," for ms in range(0, 1000, 20))
    text = f"""# {{"format": "leogym-path-trace", "version": 1, "name": "rises"}}
time_s,delay_ms,uplink_mbps,downlink_mbps,loss,connected,path_id,event
{rows}
5,130,200,200,0,1,0,
"""
    link = {"trace": "rises", "queue": {"packets": 4000}}
    traces = {"rises": text.encode()}
    delays, trains = (
        _run(2.5, {"l": link}, {"scheme": scheme, "route": ["l"]}, traces=traces).flows[0]["goodput_mbps"]
        for scheme in ("cubic-hystart-delay", "cubic-hystart-train")
    )
    assert trains > 5 * delays


@needs_lab
def test_a_path_whose_delay_falls_keeps_packets_in_order():
    text = """# {"format": "leogym-path-trace", "version": 1, "name": "falls"}
time_s,delay_ms,uplink_mbps,downlink_mbps,loss,connected,path_id,event
0,40,10,10,0,1,0,
1,25,10,10,0,1,0,
2,10,10,10,0,1,0,
5,10,10,10,0,1,0,
"""
    link = {"trace": "falls", "queue": {"packets": 1000}}
    log = _run(
        3,
        {"l": link, "m": {"rate_mbps": 20, "delay_ms": 1}},
        {"scheme": "bbr", "route": ["l", "m"], "stop_s": 2.1},
        {"scheme": "vegas", "route": ["l", "m"], "start_s": 2.5},
        traces={"falls": text.encode()},
    )
    first, second = (log.flow_series["rtt_ms"][log.flow_series["flow"] == flow] for flow in (0, 1))
    assert log.flows[0]["retransmitted_packets"] == 0, "what arrives out of order is sent again"
    assert np.nanmin(first) > 82
    assert 22 < np.nanmin(second) < 30
    # BBR alone has a model. Before the delay falls: 10 Mbit/s carry 9.65 Mbit/s of payload.
    model = log.bbr_series
    assert set(model["flow"]) == {0}
    before = np.searchsorted(model["time_s"], 1.0)
    assert model["bw_mbps"][before] == pytest.approx(9.65, rel=0.03)
    assert model["min_rtt_ms"][before] == pytest.approx(82, abs=2.0)
    assert model["state"][0] == 1


@needs_lab
def test_each_direction_has_the_delay_of_the_trace():
    # Swapping the directions keeps the RTT; data and its acknowledgement show which is which.
    def text(up_ms, down_ms):
        rows = "".join(f"{at},{up_ms},{down_ms},20,20,0,0,1,1,0,\n" for at in (0, 5))
        return (
            '# {"format": "leogym-path-trace", "version": 2, "name": "two ways"}\n'
            "time_s,up_delay_ms,down_delay_ms,uplink_mbps,downlink_mbps,up_loss,down_loss,"
            f"up_connected,down_connected,path_id,event\n{rows}"
        ).encode()

    ways_ms = ((60, 15), (15, 60))
    names = ("slow-up", "slow-down")
    both_ways = {name: {"trace": name, "queue": {"packets": 1000}} for name in names}
    data = {"scheme": "vegas", "stop_s": 1.0, "rate_mbps": 0.5}
    late = {"scheme": "udp", "rate_mbps": 0.12, "start_s": 1.3}
    flows = [flow | {"route": [name]} for name in names for flow in (data, late)]
    traces = {name: text(*way_ms) for name, way_ms in zip(names, ways_ms, strict=True)}
    log = virtual_run.execute(_scenario(1.5, both_ways, *flows), traces, series_ms=1.0)
    for number, (up_ms, _) in enumerate(ways_ms):
        tcp = log.flows[2 * number]
        assert tcp["rtt_mean_ms"] == pytest.approx(75.8, abs=1.0)
        assert tcp["base_rtt_mean_ms"] == 75
        sent, arrived = log.flow_series, log.link_series
        sent_s = sent["time_s"][(sent["flow"] == 2 * number + 1) & (sent["send_mbps"] > 0)]
        late = (arrived["link"] == number) & (arrived["time_s"] > 1.3)
        arrived_s = arrived["time_s"][late & (arrived["delivered_mbps"] > 0)]
        assert 1e3 * (arrived_s[0] - sent_s[0]) == pytest.approx(up_ms + 0.6, abs=2.0)


@needs_lab
def test_a_job_with_a_path_trace_of_frames_starts_within_two_virtual_seconds():
    trace = random.Random(1).randbytes(18 << 20)
    job = Job(["sha256sum", "/lab/trace"], {"/lab/trace": File(trace, 0o644)}, {}, [], 1.0)
    outcome = machine.run(image.latest(), job, seed=1)
    assert outcome.stdout.split()[0] == hashlib.sha256(trace).hexdigest()
    # The guest boots in 1.1 s. Linux's own driver for such files would take hours.
    assert outcome.virtual_s < 3.0


@needs_lab
def test_a_guest_that_panics_is_one_line_with_its_serial_logs_path():
    rule = r"^lab: .*Kernel panic - .*sysrq.*: /\S+/serial\.log$"
    _failed(rule, "/bin/sh", "-c", "echo c >/proc/sysrq-trigger")


@needs_lab
def test_a_guest_out_of_memory_says_so():
    hog = "x = []\nwhile True: x.append(bytearray(b'x' * (1 << 24)))"
    _failed(r"^lab: .*[Oo]ut of memory.*: /\S+/serial\.log$", "/bin/python3", "-I", "-c", hog)


@needs_lab
def test_a_guest_that_hangs_is_ended_and_leaves_no_process():
    folder = _failed(r"not done after 1 s: .*serial\.log$", "/bin/sh", "-c", ENDLESS, wall_s=1.0)
    assert not [line for _, line in _processes() if folder.encode() in line]


@needs_lab
def test_the_guest_goes_with_its_caller():
    code = (
        "from kernel_bridge.lab import image, machine;"
        "job = machine.Job(['/bin/sh', '-c', 'while :; do :; done'], {}, {}, [], 1.0);"
        "machine.run(image.latest(), job, seed=1, progress=lambda told: print(told, flush=True))"
    )
    caller = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert b"begun" in caller.stdout.readline()
    [guest] = [
        pid
        for pid, line in _processes()
        if qemu.QEMU.encode() in line and f"guest-{caller.pid}-".encode() in line
    ]
    ended = os.pidfd_open(guest)
    caller.send_signal(signal.SIGKILL)
    caller.wait()
    assert select.select([ended], [], [], 30)[0], "the guest outlived its caller"
    os.close(ended)
    done = subprocess.run(
        [sys.executable, "-m", "kernel_bridge", "clean"], capture_output=True, text=True, check=True
    )
    assert f"guest-{caller.pid}-" in done.stdout


@needs_lab
def test_a_golden_run_gives_its_figures_again():
    [folder] = [
        run
        for run in golden.read(golden.FOLDER / "fidelity.json").runs
        if (run.scheme, run.scenario.name) == ("reno", "10mbps-20ms-0.5bdp-loss0")
    ]
    (flow,) = virtual_run.execute(folder.scenario, {}).flows
    for name in ("goodput_mbps", "rtt_mean_ms", "rtt_p95_ms"):
        assert flow[name] == pytest.approx(getattr(folder.flows[0], name), rel=0.02), name
    assert flow["retransmit_rate"] == pytest.approx(folder.flows[0].retransmit_rate, abs=0.002)


# The run's folder has 8 MiB, the results 16 MiB.
FULL = """
import sys
from pathlib import Path
from leogym.kernel_bridge.lab import image, machine
machine.ready(image.latest())
machine.FOLDERS = Path(sys.argv[1])
command = ["/bin/busybox", "dd", "if=/dev/zero", "of=/big", "bs=65536", "count=256"]
try:
    machine.run(image.latest(), machine.Job(command, {}, {}, ["/big"], 1.0, wall_s=60.0), seed=1)
except machine.GuestError as error:
    print(error)
"""


@needs_lab
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_full_disk_is_one_line(tmp_path):
    script = 'mount -t tmpfs -o size=8m tmpfs "$1" && exec "$2" -c "$3" "$1"'
    line = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", tmp_path]
    done = subprocess.run([*line, sys.executable, FULL], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"lab: the guest .*: no space left on this disk: /\S+/serial\.log\n", done.stdout), (
        done
    )


def test_a_job_that_no_longer_fits_on_the_disk_is_one_line():
    with pytest.raises(GuestError, match=r"^lab: /dev/full: No space left on device$"):
        machine._write(Path("/dev/full"), b"job")


def test_without_qemu_or_an_image_one_line_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("LEOGYM_CACHE", str(tmp_path))
    with pytest.raises(InputError, match="lab build"):
        image.latest()
    monkeypatch.setattr(qemu, "QEMU", "qemu-that-is-not-there")
    assert "scripts/lab.sh" in links.missing()


def test_what_the_guest_cannot_express_is_one_line(monkeypatch):
    monkeypatch.setattr(links, "missing", lambda: None)
    link = {"rate_mbps": 10, "delay_ms": 10}
    both = [{"scheme": "cubic", "route": ["l"]}, {"scheme": "cubic-nohystart", "route": ["l"]}]
    with pytest.raises(InputError, match="setting of the whole kernel"):
        _run(1, {"l": link}, *both)
    with pytest.raises(InputError, match=r"flows\.0\.scheme: copa2"):
        _run(1, {"l": link}, {"scheme": "copa2", "route": ["l"]})


@pytest.mark.parametrize(("has", "lacks", "version"), [("bbr", "bbr3", 1), ("bbr3", "bbr", 3)])
def test_a_kernel_with_another_version_of_bbr_is_one_line(has, lacks, version, monkeypatch):
    built = image.Image(Path("kernel"), Path("initramfs"), {"bbr": version, "kernel": "6.1"})
    monkeypatch.setattr(links, "missing", lambda: None)
    monkeypatch.setattr(image, "latest", lambda: built)
    assert {has, "cubic"} <= set(virtual_run.kernel_schemes(built))

    def check(scheme):
        flow = {"scheme": scheme, "route": ["l"]}
        return virtual_run.check(_scenario(1, {"l": {"rate_mbps": 10, "delay_ms": 10}}, flow), {})

    assert check(has).flows[0].scheme == has
    with pytest.raises(InputError, match=f"test: --backend lab: {lacks}: the image's kernel has another"):
        check(lacks)


def _processes():
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                yield int(entry.name), (entry / "cmdline").read_bytes()
            except OSError:
                continue


def test_tcp_flows_begin_when_the_simulators_do_and_seeds_draw_when():
    link = {"rate_mbps": 10, "delay_ms": 10}
    flows = [{"scheme": scheme, "route": ["l"], "start_s": 0.5} for scheme in ("bbr", "vegas")]
    starts_s = []
    for seed in (1, 2):
        scenario = _scenario(2, {"l": link}, *flows, seed=seed)
        planned = plan(scenario, {}, virtual_run.schemes(), links.NAME)
        started = virtual_run.with_simulated_starts(planned, scenario, {})
        begun = [flow.start_ns / 1e9 for flow in started.flows]
        [log] = leosim.run([scenario.to_json()], {}, {})
        assert begun == pytest.approx([row["start_s"] for row in log.flows], abs=1e-9)
        starts_s += begun
    assert len(set(starts_s)) == 4
    assert all(0.5 <= start < 0.501 for start in starts_s)
