import json

import pytest

from leogym.agents.astraea import bench

TINY = """
agent: astraea
num_envs: 2
scenarios: {sampler: astraea, duration_s: 1, rate_mbps: 40, base_rtt_ms: 20, flows: 1}
minutes: 4
learning_starts: 1000000
"""


def test_standard_output_is_one_json_object_for_each_seed(tmp_path, monkeypatch, capsys):
    config = tmp_path / "tiny.yaml"
    config.write_text(TINY)
    monkeypatch.setattr(bench, "EPISODES", 2)
    status = bench.compare(2, 0.001, config)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["bench"] for line in lines] == ["astraea-learns-seed-1", "astraea-learns-seed-2"]
    for line in lines:
        assert {"bench", "value", "unit", "baseline", "ratio"} <= line.keys()
        assert line["value"] == pytest.approx(line["trained"]["reward"], abs=1e-4)
    # The run ends before the first update, so nothing was learned.
    assert status == 1
