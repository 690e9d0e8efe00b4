"""Counts of verdicts in the papers' pages, from the kept claims.

A comment names a paper or asks for all of them; everything up to the next comment is replaced::

    <!-- verdicts of leotcp -->
    <!-- end of verdicts -->
"""

import re

import polars as pl

from leogym.common.errors import InputError
from studies.papers.paper import load, shipped
from studies.papers.region import OUTCOMES
from studies.papers.table import counted

END = "<!-- end of verdicts -->"
BLOCK = re.compile(rf"(?P<begin><!-- verdicts of (?P<of>[\w-]+) -->\n).*?{re.escape(END)}", re.DOTALL)
ALL = "all"


def with_counts(page: str, claims: pl.DataFrame) -> str:
    """Return a page with the counts of its papers; an `InputError` names an unknown paper."""
    return BLOCK.sub(lambda block: f"{block['begin']}\n{_text(block['of'], claims)}\n\n{END}", page)


def _text(name: str, claims: pl.DataFrame) -> str:
    if name == ALL:
        return _all_papers(claims)
    if name not in shipped():
        raise InputError(f"no paper {name!r} (there are: {', '.join(shipped())})")
    rows = claims.filter(pl.col("paper") == name)
    return (
        f"Verdicts ([results](results/README.md)): of {len(rows)} claims {counted(rows['verdict'])}. Of its "
        f"{rows['independent'].sum()} independent measurements {_counted(rows, 'independent')}. Of its "
        f"{rows['headline'].sum()} headline claims {_counted(rows, 'headline')}."
    )


def _counted(rows: pl.DataFrame, flag: str) -> str:
    return counted(rows.filter(pl.col(flag))["verdict"])


def _all_papers(claims: pl.DataFrame) -> str:
    lines = [
        f"| paper | claims | {' | '.join(OUTCOMES)} | independent measurements that agree | headline claims "
        "that agree |",
        "|---" * (len(OUTCOMES) + 4) + "|",
    ]
    for name in [*shipped(), ""]:
        rows = claims.filter(pl.col("paper") == name) if name else claims
        paper = load(name) if name else None
        title = "all"
        if paper is not None:
            title = f"[{paper.title.partition(':')[0]}]({name}.md) ({paper.authors}, {paper.venue})"
        cells = [str(rows.filter(pl.col("verdict") == outcome).height or "") for outcome in OUTCOMES]
        parts = [_share(rows.filter(pl.col(flag))) for flag in ("independent", "headline")]
        lines.append(f"| {title} | {len(rows)} | {' | '.join([*cells, *parts])} |")
    return "\n".join(lines)


def _share(rows: pl.DataFrame) -> str:
    judged = rows.filter(pl.col("verdict") != "not run")
    agree = judged.filter(pl.col("verdict") == "agrees").height
    return f"{agree} of {judged.height} that ran"
