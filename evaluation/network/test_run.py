"""Runs of networks: tables, commands, and equality with themselves."""

import json

import leosim
import polars as pl
import pytest

from leogym.agents.training import registry
from leogym.common import atomic
from leogym.common.errors import InputError
from leogym.configs.network import Network
from leogym.evaluation.network import __main__ as command
from leogym.evaluation.network import run
from leogym.evaluation.network.run import TABLES

FILE = """
constellation: starlink-1
duration_s: 3
stations: {names: [Lisbon, Toronto, Nairobi, "51.3,0.1"]}
lasers: {rate_mbps: 50, queue: {packets: 100}}
ground:
  uplink: {rate_mbps: 5, loss: 0.001}
  downlink: {rate_mbps: 10}
traffic:
  - {pattern: permutation, schemes: {cubic: 1, bbr3: 1}}
  - {pattern: all_to_one, to: Lisbon, arrivals: {rate_per_s: 20, mean_bytes: 20000}}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(FILE)
    return path


def tables(folder):
    return {name: pl.read_parquet(folder / f"{name}.parquet") for name in TABLES}


def test_a_run_writes_its_tables_and_accounts_for_every_packet(file, tmp_path, capsys):
    assert command.run(["run", str(file), "--out", str(tmp_path / "out")]) == 0
    written, again = tables(tmp_path / "out"), capsys.readouterr().out
    flows, pairs, links = (written[name] for name in ("flows", "pairs", "links"))
    assert "3 s simulated" in again
    long = flows.filter(pl.col("transfer_bytes").is_null())
    assert sorted(long["scheme"]) == ["bbr3", "bbr3", "cubic", "cubic"]
    assert (long["goodput_mbps"] > 1).all()
    assert (long["normalized_goodput"] < 1).all()
    short = flows.filter(pl.col("transfer_bytes").is_not_null())
    assert len(short) > 30
    assert set(short["to"]) == {"Lisbon"}
    assert (short["completion_s"].drop_nulls() > 0.01).all()
    assert set(zip(pairs["from"], pairs["to"], strict=True)) == set(
        zip(flows["from"], flows["to"], strict=True)
    )
    assert (pairs["rtt_min_ms"] <= pairs["rtt_max_ms"]).all()
    assert {"Lisbon > satellites"} <= set(links["link"])
    assert written["link_series"]["delivered_mbps"].max() <= 50
    first = written["routes"].filter(pl.col("time_s") == 0)
    assert len(first) == len(pairs)
    meta = json.loads((tmp_path / "out/network.json").read_text())
    traffic = meta["traffic"]
    gone = sum(traffic[fate] for fate in ("arrived", "dropped", "lost", "unroutable", "inside"))
    assert traffic["sent"] == gone
    assert traffic["lost"] > 0


def test_plot_draws_loads_figures_and_schemes_in_one_small_file(file, tmp_path):
    command.run(["run", str(file), "--out", str(tmp_path / "out")])
    assert command.run(["plot", str(tmp_path / "out"), "--out", str(tmp_path / "page.html")]) == 0
    text = (tmp_path / "page.html").read_text()
    assert len(text) < 10_000_000
    assert text.count("<svg") == 8
    data = json.loads(text.split('type="application/json">')[1].split("</script>")[0])
    network = data["network"]
    assert network["time_s"] == [1, 2, 3]
    assert max(max(row) for row in network["load"]) in range(5, 101)
    assert all(len(row) == len(network["lasers"]) > 10 for row in network["load"])
    assert len(network["ground"][0]) > 4


def test_a_second_run_in_a_folder_is_whole_only_at_its_end(tmp_path, monkeypatch):
    network = Network.model_construct(name="mine", seed=1)
    tables = {name: pl.DataFrame({"a": [1]}) for name in TABLES}
    run.save(run.NetworkRun(tables, {}, 1.0), network, tmp_path)
    written: list[tuple[str, bool]] = []
    write = atomic.write_together

    def record(folder, files):
        written.extend((name, (tmp_path / run.META).exists()) for name in files)
        write(folder, files)

    monkeypatch.setattr(atomic, "write_together", record)
    run.save(run.NetworkRun(tables, {}, 2.0), network, tmp_path)
    assert written == [*((f"{name}.parquet", False) for name in TABLES), (run.META, False)]


def test_the_same_file_gives_the_same_tables(file, tmp_path):
    for name in ("one", "two"):
        command.run(["run", str(file), "--duration", "1", "--out", str(tmp_path / name)])
    for name in TABLES:
        assert tables(tmp_path / "one")[name].equals(tables(tmp_path / "two")[name], null_equal=True)


def test_a_run_on_several_threads_has_the_same_tables(file, tmp_path):
    for threads in ("1", "2", "5"):
        out = str(tmp_path / threads)
        assert command.run(["run", str(file), "--duration", "2", "--threads", threads, "--out", out]) == 0
    for name in TABLES:
        expected = tables(tmp_path / "1")[name]
        for threads in ("2", "5"):
            assert tables(tmp_path / threads)[name].equals(expected, null_equal=True)


@pytest.mark.parametrize("threads", ["0", "-1", "257"])
def test_a_number_of_threads_out_of_range_is_one_line(file, tmp_path, threads):
    message = f"^--threads: must be from 1 to 256, not {threads}$"
    with pytest.raises(InputError, match=message):
        command.run(["run", str(file), "--threads", threads, "--out", str(tmp_path / "out")])
    with pytest.raises(leosim.InputError, match=f"^arguments: {message[3:]}"):
        leosim.Constellation("{}", threads=int(threads))


def test_flows_of_agents_need_a_policy(file, tmp_path, capsys):
    file.write_text(FILE.replace("cubic: 1, bbr3: 1", "agent: 1, cubic: 1"))
    with pytest.raises(InputError, match="mine: traffic: has flows of scheme agent: name their policy with"):
        command.run(["run", str(file), "--out", str(tmp_path / "out")])
    policy = registry.shipped()["astraea"]
    arguments = ["run", str(file), "--duration", "1", "--out", str(tmp_path / "out")]
    assert command.run([*arguments, "--schemes", f"mine={policy},cubic"]) == 0
    assert set(tables(tmp_path / "out")["flows"]["scheme"]) == {"mine", "cubic"}


def test_routes_are_a_run_s_choice(file, tmp_path):
    file.write_text(FILE + "routing: {paths: 2, by_load: {period_ms: 500}}\n")
    assert command.run(["run", str(file), "--out", str(tmp_path / "out")]) == 0
    pairs = tables(tmp_path / "out")["pairs"]
    assert pairs["path"].to_list() == [0, 1] * (len(pairs) // 2)
    first, second = (pairs.filter(pl.col("path") == path)["rtt_min_ms"] for path in (0, 1))
    # Costs, not delays, order paths under load, but at the start nothing has a load.
    assert (first < second + 5).all()


def test_info_check_and_build_say_what_the_network_has(file, tmp_path, capsys):
    assert command.run(["info", str(file)]) == 0
    assert "1,584 satellites, 3,168 lasers of 50 Mbit/s" in capsys.readouterr().out
    assert command.run(["check", str(file)]) == 0
    assert "every pair has a route" in capsys.readouterr().out
    assert command.run(["build", str(file), "--out", str(tmp_path / "built")]) == 0
    routes = pl.read_csv(tmp_path / "built/routes.csv")
    assert routes["nodes"][0].startswith(f"{routes['from'][0]} > satellite ")
    assert (tmp_path / "built/stations.csv").read_text().startswith("name,lat_deg,lon_deg\nLisbon,38.7")
