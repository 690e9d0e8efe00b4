"""Run the search and write its table."""

import argparse
import csv
import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from leogym.agents.worst_cases.measure import Contestant, measured
from leogym.agents.worst_cases.search import OBJECTIVES, WorstCase, search
from leogym.common import output_folder, yaml_text
from leogym.common.atomic import write_atomically
from leogym.common.command_line import leogym_command
from leogym.common.errors import InputError
from leogym.configs import scenario as scenarios

FORMAT, VERSION = "leogym-worst-cases", 1


def carry_out(flags: argparse.Namespace) -> str:
    """Carry out the command line; return what to print."""
    if flags.scenario is not None:
        return repeated(flags.policy, flags.scenario)
    return run(
        flags.policy,
        objectives=[flags.objective] if flags.objective else list(OBJECTIVES),
        restarts=flags.restarts,
        generations=flags.generations,
        seed=flags.seed,
        out=flags.out,
    )


def run(
    text: str, *, objectives: list[str], restarts: int, generations: int, seed: int, out: Path | None
) -> str:
    """Search, write ``worst.json``, ``worst.csv`` and a scenario file for each row; return the table."""
    for name, value in (("--restarts", restarts), ("--generations", generations)):
        if value < 1:
            raise InputError(f"worst-cases: {name}: {value}: must be at least 1")
    contestant = Contestant.of(text)
    folder = out or Path("runs") / f"worst-{contestant.name}"
    output_folder.require(folder, "a search for worst cases")
    folder.mkdir(parents=True, exist_ok=True)
    cases = [
        case
        for objective in objectives
        for case in search(contestant, objective, restarts=restarts, generations=generations, seed=seed)
    ]
    counts = dict.fromkeys(OBJECTIVES, 0)
    rows = []
    for case in cases:
        counts[case.objective] += 1
        file = folder / f"{case.objective}-{counts[case.objective]}.yaml"
        write_atomically(file, _scenario_file(case, file.stem))
        repeat = leogym_command("agents", "worst-cases", text, "--scenario", file)
        rows.append(
            {"objective": case.objective, **asdict(case.beside), **asdict(case.situation), "command": repeat}
        )
    arguments = ["--restarts", str(restarts), "--generations", str(generations), "--seed", str(seed)]
    if len(objectives) == 1:
        arguments += ["--objective", *objectives]
    data: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "command": leogym_command("agents", "worst-cases", text, *arguments),
        "scheme": contestant.name,
        "known_ranges": None if contestant.policy is None else contestant.policy.known_ranges,
        "seed": seed,
        "rows": rows,
    }
    write_atomically(folder / "worst.json", (json.dumps(data, indent=2) + "\n").encode())
    lines = io.StringIO()
    writer = csv.DictWriter(lines, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(folder / "worst.csv", lines.getvalue().encode())
    return f"{table(contestant.name, cases)}\n\ntable: {folder / 'worst.csv'}  scenarios: {folder}"


def repeated(text: str, file: Path) -> str:
    """Return a scheme's result in the scenario ``file``, as one line of JSON."""
    [beside] = measured(Contestant.of(text), [scenarios.load(file)])
    return json.dumps(asdict(beside))


def table(name: str, cases: list[WorstCase]) -> str:
    """Return a Markdown table of the worst situations."""
    head = (
        "| power / oracle's | lowest share / oracle's | capacity, Mbit/s | base RTT, ms | every | outage "
        f"| buffer | loss | jitter | flows | {name}: utilization, inflation | fallbacks |"
    )
    lines = [head, "|---" * 12 + "|"]
    for case in cases:
        at, got = case.situation, case.beside
        power, share = f"{got.relative_power:.2f}", f"{got.relative_share:.2f}" if at.flows > 1 else "–"
        if case.objective == "power":
            power = f"**{power}**"
        else:
            share = f"**{share}**"
        lines.append(
            f"| {power} | {share} | {at.least_rate_mbps:g} to {at.rate_mbps:g} "
            f"| {at.rtt_ms:g} to {at.most_rtt_ms:g} | {at.period_s:g} s | {at.outage_ms:g} ms "
            f"| {at.buffer_bdp:g} BDP | {at.loss:.2%} | {at.jitter_us / 1e3:.1f} ms | {at.flows} "
            f"| {got.utilization:.2f}, {got.delay_inflation:.2f} | {got.fallbacks} |"
        )
    return "\n".join(lines)


def _scenario_file(case: WorstCase, name: str) -> bytes:
    data = case.situation.scenario(name).model_dump(mode="json", exclude_defaults=True)
    return yaml_text.dump(data).encode()
