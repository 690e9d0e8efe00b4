"""Workloads over the guest's TCP and UDP, against the same ones in the simulator."""

import json

import leosim
import pytest

from leogym.common.errors import InputError
from leogym.kernel_bridge.lab import image, links, virtual_run
from tests.support.scenarios import scenario

LACK = links.missing()
needs_lab = pytest.mark.skipif(LACK is not None, reason=LACK or "")
VIDEO = {"video": {"adaptation": "rate", "chunk_s": 1, "bitrates_kbps": [1000, 2500, 5000]}}
PAGE = {"page": {"http": "http1", "graph": "article"}}
CALL = {"call": {"start_mbps": 1.2}}


def _bytes(log):
    series = [column.tobytes() for table in (log.flow_series, log.link_series) for column in table.values()]
    return json.dumps([log.flows, log.links]).encode() + b"".join(series)


@needs_lab
def test_workloads_feel_in_the_guest_as_in_the_simulator_and_a_seed_gives_the_same_bytes():
    # The guest's links have Linux's token buckets, of two packets. Losses would make a page's time random.
    bucket = {"queue": {"packets": 1000}, "burst_bytes": 3000}
    described = scenario(
        3,
        {
            "video": {"rate_mbps": 6, "delay_ms": 30, **bucket},
            "page": {"rate_mbps": 8, "delay_ms": 20, **bucket},
            "call": {"rate_mbps": 1.5, "delay_ms": 25, **bucket},
        },
        {"scheme": "cubic", "route": ["video"], "workload": VIDEO},
        {"scheme": "cubic", "route": ["page"], "workload": PAGE, "extra_delay_ms": 2},
        {"scheme": "gcc", "route": ["call"], "workload": CALL},
        handshake=True,
    )
    first, second = (virtual_run.execute(described, {}) for _ in range(2))
    assert _bytes(first) == _bytes(second)
    [simulated] = leosim.run([described.to_json()], {})
    assert len(first.flows) == len(simulated.flows) == 1 + 6 + 1
    names = ("scheme", "workload", "rebuffers", "switches", "freezes")
    for ours, theirs in zip(first.flows, simulated.flows, strict=True):
        assert [ours[name] for name in names] == [theirs[name] for name in names]
    near = {
        0: {"startup_s": 0.01, "rebuffer_s": 0.01, "bitrate_mbps": 0.001, "qoe": 0.01, "rtt_mean_ms": 0.02},
        1: {"page_load_s": 0.03, "stop_s": 0.03},
        7: {"bitrate_mbps": 0.01, "freeze_s": 0.01, "delay_p50_ms": 0.02, "delay_p95_ms": 0.05},
    }
    for flow, bounds in near.items():
        for name, share in bounds.items():
            ours, theirs = first.flows[flow][name], simulated.flows[flow][name]
            assert ours == pytest.approx(theirs, rel=share), (flow, name)
    # The browser opens the other five connections once it knows the document.
    for ours, theirs in zip(first.flows[2:7], simulated.flows[2:7], strict=True):
        assert ours["start_s"] == pytest.approx(theirs["start_s"], abs=0.002)
    page = sum(flow["goodput_mbps"] * (flow["stop_s"] - flow["start_s"]) for flow in first.flows[1:7])
    objects = described.flows[1].workload.page.objects
    assert page == pytest.approx(sum(item.bytes for item in objects) * 8e-6, rel=1e-6)
    assert first.flows[7]["sent_packets"] == pytest.approx(simulated.flows[7]["sent_packets"], rel=0.01)


@needs_lab
@pytest.mark.parametrize(
    ("flow", "rule"),
    [
        ({"scheme": "quic:quinn-cubic", "workload": VIDEO}, r"flows\.0\.workload: videos and pages need TCP"),
        ({"scheme": "prague", "workload": VIDEO}, r"flows\.0\.scheme: prague: not a scheme"),
    ],
)
def test_a_workload_that_the_guest_cannot_run_is_refused_in_one_line(flow, rule):
    with pytest.raises(InputError, match=rule) as caught:
        virtual_run.check(scenario(1, {"l": {"rate_mbps": 9, "delay_ms": 1}}, {"route": ["l"], **flow}), {})
    assert "\n" not in str(caught.value)


@needs_lab
def test_an_image_without_the_program_is_one_line(monkeypatch):
    without = image.latest()
    files = {name: size for name, size in without.manifest["files"].items() if name != "bin/leo-app"}
    older = image.Image(without.kernel, without.initramfs, {**without.manifest, "files": files})
    monkeypatch.setattr(image, "latest", lambda: older)
    with pytest.raises(InputError, match=r"the image has no leo-app: .*lab build$"):
        virtual_run.check(
            scenario(
                1, {"l": {"rate_mbps": 9, "delay_ms": 1}}, {"scheme": "gcc", "route": ["l"], "workload": CALL}
            ),
            {},
        )
