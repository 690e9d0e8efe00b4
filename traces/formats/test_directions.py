import json

import leosim
import pytest

from leogym.configs.scenario import parse


def _goodputs_mbps(trace):
    """Run a plain flow and a backward flow for two seconds, each alone."""
    found = []
    for direction in ("forward", "backward"):
        data = {
            "name": "s",
            "duration_s": 4,
            "links": {"l": {"trace": "t", "reverse": {}}},
            "flows": [{"scheme": "cubic", "route": ["l"], "direction": direction}],
        }
        [log] = leosim.run([parse(data, "s").to_json()], {"t": trace}, {})
        found.append(log.flows[0]["goodput_mbps"])
    return found


@pytest.mark.parametrize(("words", "data_mbps"), [("", 40), ("--terminal-at from", 4)])
def test_named_columns_mean_what_they_say_to_a_flow(run_traces, tmp_path, capsys, words, data_mbps):
    source, out = tmp_path / "x.csv", tmp_path / "o.csv"
    source.write_text("t,d,down,up\n" + "".join(f"{second},10,40,4\n" for second in range(8)))
    columns = "time_s=t,delay_ms=d,downlink_mbps=down,uplink_mbps=up"
    assert run_traces("import", source, "--format starlink-csv --columns", columns, words, "--out", out) == 0
    trace = leosim.PathTrace.read(str(out))
    forward, backward = _goodputs_mbps(trace)
    assert forward == pytest.approx(0.95 * data_mbps, rel=0.08)
    assert backward == pytest.approx(0.95 * (44 - data_mbps), rel=0.08)
    assert json.loads(trace.metadata)["terminal_at"] == ("to" if data_mbps == 40 else "from")
    assert "its download goes" in capsys.readouterr().err
