"""An entry's place on the published scoreboard.

``scores.json`` has the scores of ``docs/leobench/results``, which a wheel does not ship.
``python -m evaluation.leobench.standings docs/leobench/results`` writes it.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from leogym.common import json_text
from leogym.common.atomic import write_atomically
from leogym.evaluation.leobench.result import Judged, Result, read_all

FILE = Path(__file__).with_name("scores.json")
NEIGHBOURS = 2
"""Entries of the board that a line names on each side."""


def key(judged: Judged) -> str:
    """Return what results that may be compared share."""
    return f"{judged.version} {judged.split} {judged.seed} {judged.tier} {judged.kernel or ''}".strip()


def encode(results: Iterable[Result]) -> bytes:
    """Return the scores of results by `key` and entry, as JSON."""
    scores: dict[str, dict[str, float]] = {}
    for result in results:
        if result.judged.status == "frozen":
            scores.setdefault(key(result.judged), {})[result.entry.name] = result.score.value
    return (json.dumps(scores, indent=1, sort_keys=True) + "\n").encode()


def line(result: Result) -> str | None:
    """Return a result's place and its neighbours on the board; None where the board has no such group."""
    scores = dict(json_text.read(FILE).get(key(result.judged), {}))
    scores.pop(result.entry.name, None)
    if result.judged.status != "frozen" or not scores:
        return None
    ordered = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    place = sum(score > result.score.value for _, score in ordered)
    above, below = ordered[max(0, place - NEIGHBOURS) : place], ordered[place : place + NEIGHBOURS]
    parts = [
        f"{side} {' and '.join(f'{name} {score:.1f}' for name, score in entries)}"
        for side, entries in (("below", above), ("above", below))
        if entries
    ]
    return f"place {place + 1} of {len(ordered) + 1} on the board: {', '.join(parts)}"


if __name__ == "__main__":
    write_atomically(FILE, encode(read_all(Path(sys.argv[1]))))
