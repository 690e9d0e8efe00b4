from pathlib import Path
from typing import Any

import polars as pl
import pytest

from leogym.configs import suite as suites
from leogym.configs.suite import Suite
from leogym.evaluation.recorded.results import Results
from leogym.evaluation.report import page

OWN = "name: mine\ntitle: mine\nscenario:\n  duration_s: 2\n  links: {l: {rate_mbps: 10, delay_ms: 5}}\n"


def told(suite: Suite, command: str, schemes: list[str], seed: int = 1, **config: Any) -> str:
    """Return the command for a suite that ``command`` ran among others."""
    description = {"command": command, "seed": seed, "config": {"schemes": dict.fromkeys(schemes), **config}}
    rows = {"suite": [suite.name] * len(schemes), "run_scheme": schemes, "scheme": schemes}
    results = Results(Path(), description, pl.DataFrame(rows))
    results.__dict__["summary"] = results.runs
    return page.command_of(results, suite)


def test_a_suites_own_schemes_and_what_papers_add_are_spelled_out():
    suite = suites.load("leo-single")
    found = told(suite, "leogym papers --out runs/papers", ["bbr3", "cubic"])
    assert found == "leogym evaluate leo-single --schemes bbr3,cubic"


def test_schemes_with_policies_of_ones_own_stay_as_they_were_given():
    given = "cubic,mine=runs/a/policy"
    for written in (f"--schemes {given}", f"--schemes={given}"):
        command = f"python evaluate.py leo-pair leo-single {written} --resume --out runs/x"
        found = told(suites.load("leo-single"), command, ["cubic", "mine"])
        assert found == f"leogym evaluate leo-single --schemes {given}"


def test_backend_repeats_seed_and_cuts_are_kept():
    config = {"backend": "lab", "repeats": 2, "quick": True, "spot": False}
    found = told(suites.load("leo-single"), "leogym evaluate leo-single", ["reno"], 7, **config)
    assert found.endswith("--schemes reno --backend lab --repeats 2 --quick --seed 7")


@pytest.mark.parametrize("file", ["mine.yaml", "elsewhere.yml"])
def test_a_file_of_ones_own_is_called_as_it_was(tmp_path, file):
    path = tmp_path / file
    path.write_text(OWN + "  flows: [{scheme: cubic, route: [l]}]\n")
    found = told(suites.load(str(path)), f"python evaluate.py leo-single {path} --quick", ["cubic"])
    assert found == f"leogym evaluate {path}"
