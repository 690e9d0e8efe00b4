import re
from dataclasses import replace
from pathlib import Path

import pytest

from leogym.common.errors import InputError
from leogym.configs import suite as suites
from leogym.evaluation import cli, evaluating
from leogym.evaluation.runs import plan
from leogym.evaluation.runs.plan import Trace
from leogym.evaluation.runs.schemes import Contestants
from studies.papers import __main__ as command
from studies.papers import paper
from studies.papers import suites as papers

STUDIES = Path(__file__).resolve().parents[1]


def test_papers_are_all_shipped_suites_that_a_claim_is_about_or_compares_with():
    others = {name for name in suites.shipped() if name.startswith(("fidelity", "geometry"))}
    # Like geometry, they explain results and have no claim.
    others |= {"static-grid", "static-links", "coexistence", "many-flows", "leo-single-others"}
    others |= {"geo-loss", "leotcp-telemetry", "transfer", "qoe", "quic-leo"}
    # Suites of standards, not of papers.
    others |= {name for name in suites.shipped() if name.startswith(("l4s", "startup"))}
    assert "responsiveness-heavy-loss" in papers.of_claims()
    assert set(papers.of_claims()) == set(suites.shipped()) - others


def test_every_suite_of_a_papers_figure_is_on_a_page_with_its_command():
    pages = "\n".join(page.read_text(encoding="utf-8") for page in STUDIES.rglob("*.md"))
    commands = [line for line in pages.splitlines() if re.match(r"\s*leogym (evaluate|papers) ", line)]
    on_pages = {word for line in commands for word in line.partition("#")[0].split()}
    of_figures = {name for name in suites.shipped() if "Fig" in suites.load(name).source}
    assert len(of_figures) > 20
    assert of_figures - on_pages == set()


def test_a_papers_suite_runs_the_twelve_and_its_papers_own(monkeypatch):
    monkeypatch.setattr(papers, "of_claims", lambda: ["geo-download"])
    chosen = papers.with_common_schemes([suites.load(name) for name in ("geo-download", "static-grid")])
    assert chosen[0].schemes == [*papers.TWELVE, "cubic-nohystart", "cubic-hystartpp"]
    assert chosen[1].schemes == suites.load("static-grid").schemes
    runs = plan.expand(
        chosen[0],
        Contestants(None, {}),
        {"none": Trace(1.0, "")},
        backend="simulator",
        backend_schemes=chosen[0].schemes,
        base_seed=1,
        repeats=1,
        version="test",
    )
    assert {run.scheme for run in runs} == set(chosen[0].schemes)


def test_claims_compare_their_suites_own_schemes_which_a_quick_run_is_limited_to(tmp_path, monkeypatch):
    for name in paper.shipped():
        for claim in paper.load(name).judged:
            for part in claim.parts:
                compared = {part.scheme} if part.scheme else set(claim.under_test)
                if (suite := part.suite or claim.suite) in suites.shipped():
                    assert compared & set(papers.TWELVE) <= set(suites.load(suite).schemes), claim.id
    schemes = []

    def stop(chosen, *_):
        schemes.append(chosen[0].schemes)
        raise InputError("stop")

    monkeypatch.setattr(evaluating, "planned", stop)
    for shorter in ([], ["--quick"]):
        with pytest.raises(InputError, match="stop"):
            command.run(["geo-download", *shorter, "--out", str(tmp_path / "out")])
    own = suites.load("geo-download").schemes
    assert schemes == [[*papers.TWELVE, *own[1:]], own]


def test_papers_write_the_series_of_first_repeats_only(tmp_path, monkeypatch):
    asked: list[tuple[list[str], str]] = []

    def stop(chosen, contestants, traces, options, known):
        asked.append(([one.name for one in chosen], options.series))
        raise InputError("stop")

    monkeypatch.setattr(evaluating, "planned", stop)
    monkeypatch.setattr(papers, "of_claims", lambda: ["geo-download"])
    monkeypatch.setattr(command, "STUDY", replace(command.STUDY, suites=papers.of_claims))
    for run, arguments in (
        (command.run, []),
        (command.run, ["--series", "all"]),
        (cli.run, ["geo-download"]),
    ):
        with pytest.raises(InputError, match="stop"):
            run([*arguments, "--out", str(tmp_path / "out")])
    assert asked == [(["geo-download"], "first"), (["geo-download"], "all"), (["geo-download"], "all")]


def test_runs_are_known_of_which_a_claim_reads_more_than_a_summary():
    # Claims over a window; over recovery times; over means of whole runs.
    assert papers.reads_over_time("leotcp-reroute", "cubic")
    assert papers.reads_over_time("leo-single-leoem", "bbr3")
    assert not papers.reads_over_time("parking-lot-3", "cubic")
    # One of a run's several schemes; the authors' weights instead of ours.
    assert papers.reads_over_time("leotcp-reroute", "reno+cubic")
    assert papers.reads_over_time("responsiveness", "astraea-authors")
    assert not papers.reads_over_time("leotcp-reroute", "hybla")


def test_every_suite_of_a_papers_figure_has_a_section_with_its_command():
    of_papers = {name for name in suites.shipped() if "Fig" in suites.load(name).source}
    pages = [path.read_text(encoding="utf-8") for path in Path(papers.__file__).parents[1].rglob("*.md")]
    sections = {
        name: section
        for page in pages
        for section in re.split(r"(?m)^##? (?=[a-z0-9-]+(?:, [a-z0-9-]+)*: )", page)
        for name in section.partition(": ")[0].split(", ")
        if name in suites.shipped()
    }
    assert of_papers <= sections.keys()
    for name, section in sections.items():
        assert f"leogym evaluate {name}" in section, name
