"""Compare the setups of two evaluations from their ``run.json``."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from leogym.evaluation.recorded.setup import in_words, unlike

Description = Mapping[str, Any]


class Change(NamedTuple):
    """A setting and its values in both evaluations."""

    label: str
    a: str
    b: str


def changes(a: Description, b: Description) -> list[Change]:
    """Return the differences of two setups: versions, options, suites, schemes, policies, traces."""
    return [*_general(a, b), *_suites(a, b), *_schemes(a, b), *_traces(a, b)]


def _general(a: Description, b: Description) -> Iterator[Change]:
    for name in ("commit", "seed", "platform"):
        yield from _unequal(name, a.get(name), b.get(name))
    for option in ("backend", "quick"):
        yield from _unequal(f"--{option}", a["config"].get(option), b["config"].get(option))
    for name in dict.fromkeys([*a["versions"], *b["versions"]]):
        yield from _unequal(f"version of {name}", a["versions"].get(name), b["versions"].get(name))


def _suites(a: Description, b: Description) -> Iterator[Change]:
    ours, theirs = (
        {suite["name"]: suite for suite in description["config"]["suites"]} for description in (a, b)
    )
    yield from _only("suites", ours, theirs)
    for name in ours:
        if name in theirs:
            yield from _unequal(f"{name}: repeats", ours[name]["repeats"], theirs[name]["repeats"])
            for field, before, after in unlike(ours[name], theirs[name]):
                yield Change(f"{name}: {field}", in_words(before), in_words(after))


def _schemes(a: Description, b: Description) -> Iterator[Change]:
    yield from _only("schemes", a["config"]["schemes"], b["config"]["schemes"])
    ours, theirs = a["config"]["policies"], b["config"]["policies"]
    for name, policy in ours.items():
        if name in theirs:
            yield from _unequal(f"policy of {name}", policy["sha256"][:12], theirs[name]["sha256"][:12])


def _traces(a: Description, b: Description) -> Iterator[Change]:
    for name, digest in a["traces"].items():
        if name in b["traces"]:
            yield from _unequal(f"trace {name}", digest[:12], b["traces"][name][:12])


def _only(label: str, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[Change]:
    mine = ", ".join(name for name in ours if name not in theirs)
    other = ", ".join(name for name in theirs if name not in ours)
    if mine or other:
        yield Change(f"{label} in one only", mine or "–", other or "–")


def _unequal(label: str, a: Any, b: Any) -> Iterator[Change]:
    if a != b:
        yield Change(label, in_words(a), in_words(b))
