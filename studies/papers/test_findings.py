import re
from pathlib import Path

import pytest

from leogym.common.errors import InputError
from studies.papers import findings, keep, suite_tables


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
    claims = keep.Kept.read(keep.PLACE).claims
    verdicts = claims["verdict"].to_list()
    stated = re.search(
        r"Of (\d+) claims of .*? (\d+) agree with our runs, (\d+) differ, (\d+) are undecided and (\d+) did "
        "not run",
        readme,
    )
    assert stated is not None
    counts = [verdicts.count(outcome) for outcome in ("agrees", "differs", "undecided", "not run")]
    assert [int(number) for number in stated.groups()] == [len(claims), *counts]
