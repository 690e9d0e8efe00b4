import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from leogym.common.errors import InputError
from leogym.evaluation.leobench import __main__ as command
from leogym.evaluation.leobench import board, scoring
from leogym.evaluation.leobench.result import (
    Circumstances,
    Entry,
    Estimate,
    Judged,
    JudgedRun,
    Result,
    encode,
)
from leogym.evaluation.leobench.version import PARTS

WIDE, NARROW = 1440, 375


def made_up(
    name: str,
    level: float,
    split: str = "dev",
    kind: str = "scheme",
    tier: str = "simulator",
    seed: int = 3,
) -> Result:
    """Return a result whose runs all lie near ``level``; beside the simulator, 0.1 above a kernel's."""
    kernel = "6.1" if tier != "simulator" else None
    simulated = {part: level + 0.1 for part in PARTS} if tier != "simulator" else None
    runs = [
        JudgedRun(
            suite=suite,
            scenario="s",
            repeat=repeat,
            values={part: level + 0.01 * repeat for part in parts},
            simulated=simulated and {part: simulated[part] for part in parts},
            failed="crashed" if name == "rust" and repeat == 0 else None,
        )
        for suite, parts in (("leo-single", PARTS[:2]), ("leo-pair", PARTS[2:]))
        for repeat in range(4)
    ]
    by_part = {part: {} for part in PARTS}
    for run in runs:
        for part, value in run.values.items():
            by_part[part].setdefault(run.suite, []).append(value)
    return Result.model_validate(
        {
            "entry": Entry(name=name, kind=kind, sha256=None, about="<b>About</b> it."),
            "judged": Judged(
                version="v1",
                status="draft",
                files_sha256="0" * 64,
                split=split,
                seed=seed,
                tier=tier,
                kernel=kernel,
                traces={},
            ),
            "score": Estimate.of(scoring.score(by_part)),
            "parts": {part: Estimate.of(interval) for part, interval in scoring.parts(by_part).items()},
            "suites": scoring.suites(by_part),
            "simulated": simulated
            and {
                "score": Estimate(value=100 * level + 10, low=None, high=None, runs=8),
                "parts": {
                    part: Estimate(value=value, low=None, high=None, runs=8)
                    for part, value in simulated.items()
                },
            },
            "runs": runs,
            "circumstances": Circumstances(
                date="2026-11-24T10:00:00+00:00",
                seconds=60.0,
                command=f"python evaluate.py leobench {name}",
                commit=None,
                core_sha256="1" * 64,
                versions={},
                platform="Linux",
                processor="a processor",
                cores=2,
            ),
        }
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    for result in (
        made_up("cubic", 0.5),
        made_up("reno", 0.505),
        made_up("astraea", 0.8, kind="policy"),
        made_up("rust", 0.1, kind="library"),
        made_up("cubic", 0.4, split="judge"),
        made_up("cubic", 0.45, tier="lab"),
    ):
        (folder / result.file_name).write_bytes(encode(result))
    assert command.run(["board", str(folder)]) == 0
    return folder / "board.html"


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_board_sorts_filters_and_shows_suites_on_a_phone_and_a_laptop(page, browser, width):
    opened = browser.new_page(viewport={"width": width, "height": 900})
    complaints: list[str] = []
    requests: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("request", lambda request: requests.append(request.url))
    opened.goto(page.as_uri())
    judged = opened.locator("#group-0 tr.row")
    expect(opened.locator("#group-0 h2")).to_have_text("v1 draft, judge, seed 3")
    expect(judged.first.locator("td[data-label=Score] b")).to_have_text("41.2")
    expect(judged.first.locator("td[data-label=Dev] b")).to_have_text("51.2")
    rows = opened.locator("#group-1 .view[data-view=all] tr.row")

    def order() -> list[str]:
        return [row.get_attribute("data-words") or "" for row in rows.all() if row.is_visible()]

    best_first = ["astraea policy", "reno scheme", "cubic scheme", "rust library"]
    assert order() == best_first
    cubic = rows.nth(2)
    expect(cubic.locator("td[data-label='Kernel − simulator'] b")).to_have_text("−8.8")
    expect(rows.nth(0).locator("td[data-label='Kernel − simulator'] b")).to_have_text("–")
    expect(cubic).to_contain_text("efficiency −0.085", use_inner_text=False)
    expect(opened.locator("#group-2 h2")).to_have_text("v1 draft, dev, Linux in virtual time (6.1)")
    expect(opened.locator("#group-2 .facts").first).to_contain_text("run once each by Linux in virtual time")
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.locator("#group-1 .panels svg").count() == len(PARTS)
    expect(rows.nth(3)).to_contain_text("failed in 2 of 8 runs")
    expect(rows.nth(0)).to_contain_text("<b>About</b> it.", use_inner_text=False)
    score = opened.locator("#group-1 .view[data-view=all] th button", has_text=re.compile("^Score$"))
    if width == WIDE:
        score.click()
        assert order() == best_first[::-1]
    opened.locator("#order").select_option("Entry")
    assert order() == sorted(best_first)
    opened.locator("#order").select_option("Score")
    assert order() == best_first
    opened.locator("#filter").fill("policy, rust")
    assert order() == ["astraea policy", "rust library"]
    opened.locator("#view").select_option("leo-pair")
    expect(rows.first).to_be_hidden()
    suite = opened.locator("#group-1 .view[data-view=leo-pair]")
    expect(suite).to_be_visible()
    assert suite.locator("thead th").all_text_contents() == [
        "Entry",
        *(part.capitalize() for part in PARTS[2:]),
    ]
    opened.emulate_media(media="print")
    expect(rows.first).to_be_visible()
    expect(opened.locator(".filter")).to_be_hidden()
    assert complaints == []
    assert requests == [page.as_uri()]
    opened.close()


def test_overlapping_intervals_share_a_place_and_splits_are_never_mixed():
    results = [made_up("a", 0.8), made_up("b", 0.5), made_up("c", 0.505), made_up("d", 0.9, split="judge")]
    judge, dev = board.groups(results, board.figure_style.looks(list("abcd")))
    assert (dev.title, judge.title) == ("v1 draft, dev", "v1 draft, judge, seed 3")
    assert [(row.place, row.standing.entry.name) for row in dev.rows] == [("1", "a"), ("2", "c"), ("2", "b")]
    assert dev.rows[0].beats_next == 1.0
    assert 0.5 < (dev.rows[1].beats_next or 0) < 1.0
    assert dev.rows[2].beats_next is None


def test_judge_seeds_are_pooled_and_only_entries_of_the_same_seeds_compared():
    levels = {("a", 3): 0.8, ("a", 4): 0.4, ("b", 3): 0.5, ("b", 4): 0.5, ("c", 4): 0.9}
    results = [made_up(name, level, split="judge", seed=seed) for (name, seed), level in levels.items()]
    results += [made_up("a", 0.7), made_up("b", 0.2)]
    both, alone, dev = board.groups(results, board.figure_style.looks(list("abc")))
    assert both.title == "v1 draft, judge, seeds 3, 4"
    assert (alone.title, dev.title) == ("v1 draft, judge, seed 4", "v1 draft, dev")
    best, other = both.rows
    assert (best.standing.entry.name, best.standing.runs) == ("a", 16)
    # The middle half of .40 to .43 and .80 to .83; robustness counts the worst quarter.
    assert best.standing.score.value == pytest.approx(100 * (0.615**5 * 0.405) ** (1 / 6))
    assert best.dev == results[5].score
    assert other.standing.score.value == pytest.approx(100 * (0.515**5 * 0.5) ** (1 / 6))
    assert other.dev == results[6].score
    assert dev.rows[0].dev is None
    with pytest.raises(InputError, match="v1, judge: two results of one entry, a"):
        board.groups([*results, results[0]], {})


def test_a_folder_without_results_or_with_two_of_one_entry_is_refused_in_one_line(tmp_path):
    with pytest.raises(InputError, match="holds no result"):
        board.write(tmp_path, tmp_path / "board.html")
    for copy in ("first", "second"):
        (tmp_path / f"{copy}.json").write_bytes(encode(made_up("cubic", 0.5)))
    with pytest.raises(InputError, match="v1, dev: two results of one entry"):
        board.write(tmp_path, tmp_path / "board.html")
