"""These are the bytes that ``core/link/tests/netem_trace.rs`` plays with the real netem-trace crate."""

import json
from pathlib import Path

from leogym.traces.formats import exporting
from leogym.traces.formats import series as rows
from leogym.traces.path import cache

FIXTURES = Path(__file__).resolve().parents[2] / "core" / "link" / "tests" / "fixtures" / "netem_trace"
FILES = ("uplink.bw.json", "downlink.bw.json", "delay.json", "loss.json")


def test_the_export_is_what_the_real_crate_was_given(tmp_path):
    exporting.export(str(FIXTURES / "trace.csv"), "netem-trace", tmp_path / "out")
    for name in FILES:
        assert (tmp_path / "out" / name).read_text() == (FIXTURES / name).read_text()


def test_spans_add_up_to_the_period(tmp_path):
    exporting.export(str(FIXTURES / "trace.csv"), "netem-trace", tmp_path / "out")
    series = rows.from_trace(cache.load(str(FIXTURES / "trace.csv")))
    for name in FILES:
        [(kind, repeated)] = json.loads((tmp_path / "out" / name).read_text()).items()
        assert kind.startswith("Repeated")
        assert repeated["count"] == 0
        lengths = [next(iter(model.values()))["duration"] for model in repeated["pattern"]]
        assert sum(int(length.removesuffix("ns")) for length in lengths) == series.period_ns
