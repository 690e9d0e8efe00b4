"""Check that ``--resume`` continues with the same setup: its runs share tables."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from leogym.common.errors import InputError
from leogym.evaluation.runs.plan import Run

PRESENTATION = {
    "title",
    "question",
    "source",
    "schemes",
    "headline",
    "figures",
    "x",
    "references",
    "quick",
    "spot",
    "repeats",
}
"""Keys of a suite that change no run; `_repeats` checks ``repeats``."""
MOST_NAMED = 3
"""Most differences in the message; the others are counted."""


def require_same(
    folder: Path,
    before: Mapping[str, Any],
    now: Mapping[str, Any],
    recorded: pl.DataFrame,
    planned: Collection[Run],
) -> None:
    """Raise an `InputError` unless planned runs may share tables with the runs in ``folder``.

    More repeats of everything recorded, other schemes and other suites may. ``before`` and ``now`` are the
    descriptions of the folder's evaluation and of the requested one.
    """
    differences = [*_differences(before, now), *_repeats(before, now, recorded, planned)]
    if not differences and _of_another_setup(recorded, planned):
        differences = ["scenarios: have another definition"]
    if differences:
        more = f" (and {len(differences) - MOST_NAMED} more)" if len(differences) > MOST_NAMED else ""
        listing = "; ".join(differences[:MOST_NAMED])
        raise InputError(f"{folder}: --resume: has another setup: {listing}{more}; name another --out")


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    old, new = before["config"], now["config"]
    for name in ("quick", "spot", "backend"):
        if (old.get(name) or False) != (new.get(name) or False):
            yield f"--{name}: {in_words(old.get(name))} before, {in_words(new.get(name))} now"
    if before["seed"] != now["seed"]:
        yield f"--seed: {before['seed']} before, {now['seed']} now"
    earlier = {suite["name"]: suite for suite in old["suites"]}
    for suite in new["suites"]:
        if suite["name"] in earlier:
            for name, theirs, ours in unlike(earlier[suite["name"]], suite):
                yield f"{suite['name']}: {name}: {in_words(theirs)} before, {in_words(ours)} now"
    for name, policy in new["policies"].items():
        yield from _hashes(f"--schemes: {name}: policy", old["policies"].get(name), policy)
    for name, sha256 in now["traces"].items():
        theirs = before["traces"].get(name)
        yield from _hashes(f"{name}: path trace", theirs and {"sha256": theirs}, {"sha256": sha256})
    versions = [described["versions"].get("leosim") for described in (before, now)]
    if versions[0] != versions[1]:
        yield f"leosim: {versions[0]} before, {versions[1]} now"
    elif before.get("build") not in (None, now["build"]):
        yield f"leosim: build {before['build'][:8]}… before, {now['build'][:8]}… now"


def unlike(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the path and both values of each difference between two definitions of a suite."""
    for name in dict.fromkeys([*theirs, *ours]):
        if name in PRESENTATION or theirs.get(name) == ours.get(name):
            continue
        yield from _leaves(name, theirs.get(name), ours.get(name))


def _leaves(path: str, theirs: Any, ours: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for name in dict.fromkeys([*theirs, *ours]):
            yield from _leaves(f"{path}.{name}", theirs.get(name), ours.get(name))
    elif theirs != ours:
        yield path, theirs, ours


def _hashes(label: str, theirs: Mapping[str, Any] | None, ours: Mapping[str, Any]) -> Iterator[str]:
    if theirs is not None and theirs["sha256"] != ours["sha256"]:
        yield f"{label}: {theirs['sha256'][:8]}… before, {ours['sha256'][:8]}… now"


def _repeats(
    before: Mapping[str, Any], now: Mapping[str, Any], recorded: pl.DataFrame, planned: Collection[Run]
) -> Iterator[str]:
    """Yield suites in which one scheme would have more repeats than another."""
    earlier = {suite["name"]: suite["repeats"] for suite in before["config"]["suites"]}
    for suite in now["config"]["suites"]:
        name, ours = suite["name"], suite["repeats"]
        theirs = earlier.get(name, ours)
        contests = set(recorded.filter(pl.col("suite") == name)["run_scheme"])
        asked = {run.scheme for run in planned if run.suite == name}
        if ours < theirs or (ours > theirs and not contests <= asked):
            without = f" without {', '.join(sorted(contests - asked))}" if ours > theirs else ""
            yield f"{name}: repeats: {theirs} before, {ours} now{without}"


def _of_another_setup(recorded: pl.DataFrame, planned: Collection[Run]) -> bool:
    setups = {(run.suite, run.scenario.name, run.scheme, run.backend): run.setup_id for run in planned}
    rows = recorded.select("suite", "scenario", "run_scheme", "backend", "setup_id").unique()
    return any(setups.get((*key,), setup_id) != setup_id for *key, setup_id in rows.iter_rows())


def in_words(value: Any) -> str:
    """Return a setting's value in words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
