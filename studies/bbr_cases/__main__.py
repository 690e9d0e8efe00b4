"""``python -m studies.bbr_cases``: the test cases of draft-ietf-ccwg-bbr, for every BBR."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping, Sequence

from leogym.common.command_line import OneLineParser
from leogym.common.errors import InputError, reports_input_errors
from leogym.common.nearest import suggest_names
from leogym.configs.scenario import Scenario
from leogym.kernel_bridge.lab import virtual_run
from leogym.results.measurement import Measurement
from studies.bbr_cases import case
from studies.bbr_cases.checks import VERSIONS, Check
from studies.bbr_cases.expectations import EXPECTATIONS

SCHEMES = {"bbr": 1, "bbr3": 3, "starquic-bbr3": 3}
"""The version of each BBR."""
LAB_SERIES_MS = 10.0
"""Linux is sampled this often."""


def in_lab(scenario: Scenario, traces: Mapping[str, bytes]) -> Measurement:
    """Run a scenario on Linux in virtual time."""
    return virtual_run.execute(scenario, traces, LAB_SERIES_MS)


def checks_of(chosen: case.Case, scheme: str, run: case.Run, seed: int) -> list[Check]:
    """Run a case with a scheme and return its checks."""
    course = chosen.course(scheme, run, seed)
    return list(EXPECTATIONS[chosen.name](course, VERSIONS[SCHEMES[scheme]]))


def cell(checks: Sequence[Check] | str) -> str:
    """Return a case's cell of the overview."""
    if isinstance(checks, str):
        return "–"
    passed = sum(check.passed for check in checks)
    text = "pass" if passed == len(checks) else f"**{len(checks) - passed} of {len(checks)} fail**"
    return text if all(check.applies for check in checks) else f"{text}, partly its own"


def overview(results: Mapping[tuple[str, str], list[Check] | str], titles: Mapping[str, str]) -> str:
    """Return a Markdown table of cases and schemes.

    Args:
        results: by case and scheme the checks, or why the backend cannot run the case.
        titles: of the cases.
    """
    schemes = list(dict.fromkeys(scheme for _, scheme in results))
    lines = [f"| case | {' | '.join(schemes)} |", "|---|" + "---|" * len(schemes)]
    for name, title in titles.items():
        cells = (cell(results[name, scheme]) for scheme in schemes)
        lines.append(f"| {title} (`{name}`) | {' | '.join(cells)} |")
    return "\n".join(lines)


def rows(name: str, scheme: str, checks: Sequence[Check] | str) -> list[str]:
    """Return the rows of a case and a scheme in the Markdown table of checks."""
    begin = f"| `{name}` | {scheme} |"
    if isinstance(checks, str):
        return [f"{begin} not run: {checks} | | | – |"]
    own = f" (not part of version {SCHEMES[scheme]})"
    return [
        f"{begin} {check.what}{'' if check.applies else own} | {check.measured} | {check.expected} "
        f"| {'pass' if check.passed else '**fail**'} |"
        for check in checks
    ]


def _chosen(text: str, known: Sequence[str], option: str) -> list[str]:
    names = [name for name in text.split(",") if name] or list(known)
    for name in names:
        if name not in known:
            raise InputError(f"{option}: {name}: {suggest_names(name, known)}")
    return names


@reports_input_errors
def main(words: Sequence[str] | None = None) -> int:
    """Print a row per check as runs end, then an overview; return 1 if a check fails."""
    parser = OneLineParser(
        prog="python -m studies.bbr_cases",
        description=__doc__,
        examples=("--schemes bbr3 --cases drain-time,rate-up", "--backend lab --schemes bbr"),
    )
    cases = {entry.name: entry for entry in case.load()}
    parser.add_argument("--schemes", default="", metavar="NAME,…", help=f"default: {','.join(SCHEMES)}")
    parser.add_argument("--cases", default="", metavar="NAME,…", help="default: all")
    parser.add_argument("--backend", default="simulator", choices=("simulator", "lab"))
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="default %(default)s")
    options = parser.parse_args(words)
    names = _chosen(options.cases, list(cases), "--cases")
    known = [name for name in SCHEMES if options.backend == "simulator" or name in virtual_run.schemes()]
    schemes = _chosen(options.schemes, known, "--schemes")
    run = case.simulate if options.backend == "simulator" else in_lab
    results: dict[tuple[str, str], list[Check] | str] = {}
    print(
        "| case | scheme | expectation | measured | expected | verdict |",
        "|---|---|---|---|---|---|",
        sep="\n",
    )
    for name, scheme in itertools.product(names, schemes):
        try:
            results[name, scheme] = checks_of(cases[name], scheme, run, options.seed)
        except InputError as error:
            if options.backend == "simulator":
                raise
            results[name, scheme] = str(error).rsplit(": ", 1)[-1]
        print(*rows(name, scheme, results[name, scheme]), sep="\n", flush=True)
    print("", overview(results, {name: cases[name].title for name in names}), sep="\n")
    ran = [checks for checks in results.values() if not isinstance(checks, str)]
    return int(not all(check.passed for checks in ran for check in checks))


if __name__ == "__main__":
    sys.exit(main())
