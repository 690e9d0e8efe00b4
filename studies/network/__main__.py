"""``python -m studies.network``: five questions about whole networks, from the runs of sweeps."""

import itertools
import operator
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from leogym.common.command_line import OneLineParser
from leogym.common.errors import InputError, reports_input_errors
from leogym.results import intervals
from leogym.results.metrics import jain
from leogym.traces.network import description as describing
from studies.network import measures

KUIPER = "kuiper-630"
PUBLISHED_PAIRS = (("mnl", "dlc"), ("mnl", "led"), ("led", "dlc"))
"""Pairs whose RTTs and paths Hypatia's repository has."""
LONE_PAIRS = ("rio-petersburg", "manila-dalian", "istanbul-nairobi")
HOTSPOT = ("leotcp", "bbr3", "cubic", "orbit", "astraea")
PERCENTILES = (10, 50, 90)


def rtts(_: Path, step_s: float = 1.0) -> None:
    """How much do RTTs and paths change?"""
    loaded = describing.load(KUIPER)
    names = [site.name for site in loaded.stations.sites]
    pairs = list(itertools.combinations(names, 2))
    # Of all pairs at steps of a second, and of the published ones at Hypatia's 100 ms.
    for chosen, step in ((pairs, step_s), (PUBLISHED_PAIRS, step_s / 10)):
        flows = [{"route": list(pair), "scheme": "reno"} for pair in chosen]
        description = replace(loaded, flows=flows)
        moments = [routes for _, routes in description.routes(step)]
        rtt_ms = np.array([[rtt if nodes else np.nan for nodes, rtt in routes] for routes in moments])
        least, most = np.nanmin(rtt_ms, axis=0), np.nanmax(rtt_ms, axis=0)
        paths = [[tuple(nodes) for nodes, _ in of_pair] for of_pair in zip(*moments, strict=True)]
        changes = [sum(map(tuple.__ne__, path, path[1:])) for path in paths]
        if chosen is PUBLISHED_PAIRS:
            for pair, low, high, count in zip(chosen, least, most, changes, strict=True):
                print(f"{' > '.join(pair)}: {low:.2f} to {high:.2f} ms, {count} changes of the path")
            continue
        slowest = most / measures.geodesic_rtt_ms(description)
        print(
            f"{len(chosen):,} pairs: largest RTT below twice the geodesic: {100 * np.mean(slowest < 2):.1f} %"
        )
        _percentiles("largest RTT over smallest", most / least)
        _percentiles("changes of the path in 200 s", changes)


def tcp(folder: Path) -> None:
    """How do NewReno and Vegas fare alone on paths whose RTT changes?"""
    for pair, scheme in itertools.product(LONE_PAIRS, ("reno", "vegas")):
        runs = measures.runs(folder / "pairs", pair, scheme).values()
        flows = [pl.read_parquet(run / "flows.parquet") for run in runs]
        series = [pl.read_parquet(run / "flow_series.parquet") for run in runs]
        values = {
            "goodput, Mbit/s": [flow["goodput_mbps"][0] for flow in flows],
            "in the first 30 s": [_goodput(rows, 0, 30) for rows in series],
            "in the last 100 s": [_goodput(rows, 100, 200) for rows in series],
            "RTT over base": [flow["delay_inflation"][0] for flow in flows],
            "packets sent again": [flow["retransmitted_packets"][0] for flow in flows],
            "packets dropped": [measures.dropped(run) for run in runs],
        }
        _row(f"{pair}, {scheme}", values)


def utilisation(folder: Path) -> None:
    """How is capacity used under permutation traffic?"""

    def quantities(run: Path) -> dict[str, float]:
        goodputs = pl.read_parquet(run / "flows.parquet")["goodput_mbps"].to_list()
        percentiles = np.percentile(goodputs, PERCENTILES).tolist()
        return {
            "total goodput, Mbit/s": sum(goodputs),
            **{
                f"{percent} % of flows have at most, Mbit/s": goodput
                for percent, goodput in zip(PERCENTILES, percentiles, strict=True)
            },
            "Jain's index": jain(goodputs) or np.nan,
            "share of intervals with a third unused": measures.unused_share(run),
        }

    cases = ((KUIPER, "reno", "kuiper"), (KUIPER, "vegas", "kuiper"), ("kuiper-frozen", "reno", "frozen"))
    measured = {
        (network, scheme): {
            seed: quantities(run) for seed, run in measures.runs(folder / name, network, scheme).items()
        }
        for network, scheme, name in cases
    }
    for (network, scheme), of_seeds in measured.items():
        _row(f"{network}, {scheme}", _columns(of_seeds.values()))
    moving, frozen = measured[KUIPER, "reno"], measured["kuiper-frozen", "reno"]
    _row(f"{KUIPER} minus kuiper-frozen, reno", _columns(_paired(operator.sub, moving, frozen)))


def hotspot(folder: Path) -> None:
    """How do schemes share a hotspot?"""
    mixed = measures.runs(folder / "hotspot", "hotspot", "+".join(HOTSPOT))
    for scheme in HOTSPOT:
        alone = measures.runs(folder / "hotspot", "hotspot", scheme)
        values: dict[str, list[float]] = {}
        for run in mixed.values():
            flows = pl.read_parquet(run / "flows.parquet")
            own = flows.filter(pl.col("scheme") == scheme)
            share = own["goodput_mbps"].to_numpy().mean() / flows["goodput_mbps"].to_numpy().mean()
            values.setdefault("goodput over the mean of all flows", []).append(float(share))
            values.setdefault("loss", []).append(float(own["loss_rate"].to_numpy().mean()))
        for run in alone.values():
            flows = pl.read_parquet(run / "flows.parquet")
            goodputs = flows["goodput_mbps"].to_list()
            values.setdefault("alone: total, Mbit/s", []).append(sum(goodputs))
            inflation = float(np.nanmean(flows["delay_inflation"]))
            values.setdefault("alone: RTT over base", []).append(inflation)
            values.setdefault("alone: Jain's index", []).append(jain(goodputs) or np.nan)
        _row(scheme, values)


def by_load(folder: Path) -> None:
    """What does routing by load gain?"""

    def quantities(run: Path) -> dict[str, float]:
        flows = pl.read_parquet(run / "flows.parquet").to_dict(as_series=False)
        sent = sum(flows["sent_packets"])
        return {
            "total goodput": sum(flows["goodput_mbps"]),
            "10th percentile of goodput": float(np.percentile(flows["goodput_mbps"], 10)),
            "mean RTT": float(np.nanmean(flows["rtt_mean_ms"])),
            "share of packets taken for lost": sum(flows["lost_packets"]) / sent,
            "share of packets sent again": sum(flows["retransmitted_packets"]) / sent,
            "changes of paths": float(np.sum(pl.read_parquet(run / "pairs.parquet")["changes"].to_numpy())),
        }

    loaded, shortest = (
        {seed: quantities(run) for seed, run in measures.runs(folder / name, network, "reno").items()}
        for name, network in (("by-load", "kuiper-by-load"), ("kuiper", KUIPER))
    )
    _row("by load over shortest paths", _columns(_paired(operator.truediv, loaded, shortest)))


QUESTIONS = {"rtts": rtts, "tcp": tcp, "utilisation": utilisation, "hotspot": hotspot, "by-load": by_load}


def _paired(
    combine: Callable[[float, float], float],
    first: dict[int, dict[str, float]],
    second: dict[int, dict[str, float]],
) -> list[dict[str, float]]:
    """Combine each quantity of two cases seed by seed."""
    return [
        {name: combine(value, second[seed][name]) for name, value in first[seed].items()}
        for seed in first
        if seed in second
    ]


def _columns(of_seeds: Iterable[dict[str, float]]) -> dict[str, list[float]]:
    rows = list(of_seeds)
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {"": []}


def _goodput(rows: pl.DataFrame, start_s: float, end_s: float) -> float:
    within = rows.filter((pl.col("time_s") > start_s) & (pl.col("time_s") <= end_s))
    return float(within["goodput_mbps"].to_numpy().mean())


def _percentiles(name: str, values: Iterable[float]) -> None:
    ranks = ", ".join(f"{value:.2f}" for value in np.percentile(list(values), PERCENTILES))
    print(f"{name}, {'th, '.join(map(str, PERCENTILES))}th percentiles of pairs: {ranks}")


def _row(label: str, values: dict[str, list[float]]) -> None:
    """Print the mean of each quantity with its interval over seeds."""
    for name, of_seeds in values.items():
        if not of_seeds:
            raise InputError(f"{label}: no finished runs: README.md has the commands of the sweeps")
        mean = intervals.interval([float(value) for value in of_seeds], seed=1)
        print(f"{label}: {name}: {mean.mean:.3f} [{mean.low:.3f}, {mean.high:.3f}], {mean.n} seeds")
    sys.stdout.flush()


@reports_input_errors
def main(arguments: Sequence[str] | None = None) -> int:
    """Answer questions."""
    parser = OneLineParser(
        prog="python -m studies.network", description=__doc__, examples=("runs/networks hotspot",)
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder of the sweeps' folders")
    parser.add_argument("questions", nargs="*", metavar="QUESTION", help=f"of {', '.join(QUESTIONS)}")
    options = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    for name in options.questions or QUESTIONS:
        if name not in QUESTIONS:
            raise InputError(f"{name}: not a question; there are {', '.join(QUESTIONS)}")
        print(f"{QUESTIONS[name].__doc__}")
        QUESTIONS[name](options.folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
