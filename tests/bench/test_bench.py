import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from leogym.common.errors import InputError
from tests.bench import __main__ as bench
from tests.bench import peer, simulator
from tests.bench.row import Row

STUB = """#!/bin/sh
# A simulator that always delivers 1,000 packets and prints more than that.
echo "asked for $1 flows, $2 Mbit/s, $3 s" >&2
echo "Outputting to logout.dat"
echo "delivered 1000"
"""


def program(folder: Path, text: str) -> Path:
    path = folder / "cell"
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_a_row_is_a_line_of_json_with_the_contract_s_keys_and_its_bar(capsys):
    Row("a.b", 3.0, "packets/s", 2.0, "another", bar=1.6).print()
    line = json.loads(capsys.readouterr().out)
    assert {key: line[key] for key in ("bench", "value", "unit", "baseline", "ratio")} == {
        "bench": "a.b", "value": 3.0, "unit": "packets/s", "baseline": 2.0, "ratio": 1.5,
    }  # fmt: skip
    assert (line["bar"], line["holds"]) == ("at least 1.6", False)
    assert "cores" in line["machine"]


def test_less_is_better_where_a_bar_is_the_most_that_holds():
    assert Row("a", 1.4, "ns", 1.0, "another", bar=1.5, at_most=True).holds
    assert not Row("a", 1.6, "ns", 1.0, "another", bar=1.5, at_most=True).holds
    assert Row("a", 1.6, "ns", 1.0, "another").holds is None


def test_each_row_is_printed_before_the_next_is_measured(monkeypatch, capsys):
    calls = []

    def rows(name, peers):
        yield Row("first", 1.0, "s", 1.0, "itself")
        calls.append(capsys.readouterr().out)
        yield Row("second", 2.0, "s", 1.0, "the first", bar=1.0, at_most=True)

    monkeypatch.setattr(bench, "rows", rows)
    assert not bench.run("simulator")
    assert json.loads(calls[0])["bench"] == "first"


def test_a_benchmark_that_fails_says_so_in_a_line_and_the_others_run(monkeypatch, capsys):
    def rows(name, peers):
        if name == "simulator":
            raise RuntimeError("it is\nnot there")
        yield Row(name, 1.0, "s", 1.0, "itself")

    monkeypatch.setattr(bench, "rows", rows)
    monkeypatch.setattr(sys, "argv", ["bench", "simulator", "envs"])
    assert bench.main() == 1
    captured = capsys.readouterr()
    assert captured.err == "bench: simulator: it is not there\n"
    assert json.loads(captured.out)["bench"] == "envs"


def test_without_a_name_those_that_take_long_are_left_out(monkeypatch):
    ran = []
    monkeypatch.setattr(bench, "run", lambda name, peers: ran.append(name) or True)
    monkeypatch.setattr(sys, "argv", ["bench"])
    assert bench.main() == 0
    assert set(ran).isdisjoint({"suite", "cores", "engines", "training"})
    monkeypatch.setattr(sys, "argv", ["bench", "--all"])
    ran.clear()
    assert bench.main() == 0
    assert ran == list(bench.BENCHES)


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (["nosuch"], "bench: nosuch: no such benchmark"),
        (["simulator", "--htsim", "/nowhere"], "bench: --htsim: /nowhere: not a program"),
        (["envs", "--ns3", sys.executable], "bench: --ns3: works only with `simulator`"),
    ],
)
def test_bad_input_gets_one_line(words, rule, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bench", *words])
    with pytest.raises(SystemExit) as caught:
        bench.main()
    assert caught.value.code == 2
    stderr = capsys.readouterr().err
    assert stderr.startswith(rule)
    assert stderr.count("\n") == 1


def test_a_peer_s_packets_are_the_last_number_that_it_prints(tmp_path):
    spent_s, packets = peer.of("htsim", str(program(tmp_path, STUB))).run(1, 100.0, 60.0)
    assert packets == 1000
    assert spent_s >= 0.0


@pytest.mark.parametrize(
    ("text", "rule"),
    [("#!/bin/sh\nexit 3", "exit status 3"), ("#!/bin/sh\necho done", "no number of packets")],
)
def test_a_peer_that_fails_or_says_nothing_is_no_baseline(text, rule, tmp_path):
    with pytest.raises(RuntimeError, match=rule):
        peer.of("ns3", str(program(tmp_path, text))).run(1, 100.0, 60.0)


def test_what_is_not_a_program_is_bad_input(tmp_path):
    with pytest.raises(InputError, match="not a program"):
        peer.of("ns3", str(tmp_path))


def test_runs_take_turns_and_the_best_of_each_counts():
    order = []
    speeds = {"a": iter([1.0, 3.0]), "b": iter([5.0, 4.0])}

    def run(name):
        order.append(name)
        return next(speeds[name])

    assert simulator.fastest(lambda: run("a"), lambda: run("b"), repeats=2) == [3.0, 5.0]
    assert order == ["a", "b", "a", "b"]


def test_what_takes_long_does_not_hold_back_rows(tmp_path):
    """Uses a pipe, where Python buffers lines by default."""
    script = tmp_path / "slow.py"
    script.write_text(
        "import time\nfrom tests.bench.row import Row\nRow('a', 1.0, 's', 1.0, 'b').print()\ninput()\n"
    )
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={"PYTHONPATH": str(Path(__file__).parents[2])},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["bench"] == "a"  # it still waits for input
        process.communicate("\n")
    assert process.returncode == 0
