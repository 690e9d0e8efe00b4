import re
from pathlib import Path

import leosim
import pytest

from leogym.common.errors import InputError
from leogym.configs import suite as suites
from leogym.results.metrics import METRICS
from leogym.traces.path import named_paths, path_trace
from studies.papers import findings, keep, suite_tables
from studies.papers.table import own


def test_every_page_of_the_study_has_the_kept_numbers():
    pages = suite_tables.pages()
    assert findings.PAGE in pages
    stale = [path.name for path, written in pages.items() if path.read_text(encoding="utf-8") != written]
    assert stale == [], "leogym papers tables"


def test_a_finding_without_a_kept_number_is_an_error():
    kept = keep.Kept.read(keep.PLACE)
    with pytest.raises(InputError, match="0 rows are kept with"):
        findings.page(keep.Kept(kept.summary.clear(), kept.claims, kept.values, kept.evaluations))


def test_the_readme_has_the_counts_of_the_kept_verdicts():
    readme = " ".join((Path(keep.__file__).parents[2] / "README.md").read_text(encoding="utf-8").split())
    claims = own(keep.Kept.read(keep.PLACE).claims)
    verdicts = claims["verdict"].to_list()
    stated = re.search(
        r"Of (\d+) claims of .*? (\d+) agree with our runs, (\d+) differ, (\d+) are undecided and (\d+) did "
        "not run",
        readme,
    )
    assert stated is not None
    counts = [verdicts.count(outcome) for outcome in ("agrees", "differs", "undecided", "not run")]
    assert [int(number) for number in stated.groups()] == [len(claims), *counts]


def test_the_table_of_whole_orbits_has_the_kept_goodputs():
    page = (findings.FOLDER / "satcp-leoem.md").read_text(encoding="utf-8")
    table = page[page.index("| | cubic | paper | bbr | paper | satcp | paper |") :].partition("\n\n")[0]
    cities = {
        "San Diego": "sd",
        "New York": "ny",
        "Seattle": "sea",
        "London": "ldn",
        "Shanghai": "sha",
        "Buenos Aires": "ba",
    }
    links = {"gateways": "bp", "lasers": "isl"}
    summary = keep.Kept.read(keep.PLACE).summary.filter(suite="leo-orbit", metric="goodput_mbps")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]
    assert len(rows) == 9
    for title, *cells in rows:
        ends, link = title.split(", ")
        path = "-".join([*(cities[city] for city in ends.split("–")), links[link]])
        for scheme, cell in zip(("cubic", "bbr", "satcp"), cells[::2], strict=True):
            [goodput] = summary.filter(scenario=path, scheme=scheme).rows(named=True)
            mean, low, high = (f"{goodput[name]:.1f}" for name in ("mean", "ci_low", "ci_high"))
            assert cell == f"{mean} ({low} to {high})", (path, scheme)


def test_the_table_of_jumps_has_the_kept_utilizations():
    page = (findings.FOLDER / "satcp-leoem.md").read_text(encoding="utf-8")
    table = page[page.index("| | utilization over the twelve cases |") :].partition("\n\n")[0]
    summary = keep.Kept.read(keep.PLACE).summary.filter(suite="latency-jump", metric="utilization")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]
    assert {scheme for scheme, _ in rows} == {"satcp", "cubic", "bbr", "bbr3"}
    for scheme, cell in rows:
        means = summary.filter(scheme=scheme)["mean"].to_list()
        assert len(means) == 12
        ends = sorted({f"{100 * METRICS['utilization'].scale * end:.0f}" for end in (min(means), max(means))})
        assert cell.partition(" %")[0] == " to ".join(sorted(ends, key=float)), scheme


def test_the_page_on_disruptions_has_the_changes_of_its_path(tmp_path):
    page = " ".join((findings.FOLDER / "satcp-leoem.md").read_text(encoding="utf-8").split())
    [case] = suites.load("disruption").cases("cubic")
    [link] = case.scenario.links.values()
    # A path that starts later is the tail of one that starts earlier: a minute is enough.
    minute = {"start_s": link.offset_s, "duration_s": case.scenario.duration_s}
    path_trace.write(named_paths.spec(link.trace).model_copy(update=minute), tmp_path / "x.csv")
    trace = leosim.PathTrace.parse((tmp_path / "x.csv").read_text(), "x.csv")
    changes = sum(event != "" for event in trace.event)
    assert f"the path changes {changes} times in the {case.scenario.duration_s:.0f} s" in page
