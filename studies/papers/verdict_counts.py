"""Verdicts in pages, from the kept claims: counts by paper, and single claims.

A comment names a paper or asks for all of them, or names claims of a paper. Everything up to the next comment
is replaced::

    <!-- verdicts of leotcp -->
    <!-- end of verdicts -->

    <!-- claims of satcp-leoem: fig9.bbr-15-s, fig9.satcp-over-bbr@latency-jump -->
    <!-- end of claims -->

    <!-- claims also on leo-pair -->
    <!-- end of claims -->

The last one compares the verdicts on a suite with those on the suites that the claims belong to.
"""

import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from leogym.common.errors import InputError
from studies.papers.paper import ELSEWHERE, load, shipped
from studies.papers.region import OUTCOMES
from studies.papers.table import counted, own

END = "<!-- end of verdicts -->"
BLOCK = re.compile(rf"(?P<begin><!-- verdicts of (?P<of>[\w-]+) -->\n).*?{re.escape(END)}", re.DOTALL)
ALL = "all"
END_OF_CLAIMS = "<!-- end of claims -->"
CLAIMS = re.compile(
    rf"(?P<begin><!-- claims of (?P<of>[\w-]+): (?P<ids>[\w.@, -]+?) -->\n).*?{re.escape(END_OF_CLAIMS)}",
    re.DOTALL,
)
ALSO_ON = re.compile(
    rf"(?P<begin><!-- claims also on (?P<suite>[\w-]+) -->\n).*?{re.escape(END_OF_CLAIMS)}", re.DOTALL
)
MOST_VALUES = 2
"""Values of a claim that a table of claims shows."""


def with_counts(page: str, claims: pl.DataFrame) -> str:
    """Return a page with its counts and claims; an `InputError` names an unknown paper, claim or suite."""
    page = BLOCK.sub(lambda block: f"{block['begin']}\n{_text(block['of'], own(claims))}\n\n{END}", page)
    page = ALSO_ON.sub(
        lambda block: f"{block['begin']}\n{_compared(block['suite'], claims)}\n\n{END_OF_CLAIMS}", page
    )
    return CLAIMS.sub(lambda block: f"{block['begin']}\n{_table(block, claims)}\n\n{END_OF_CLAIMS}", page)


def _table(block: re.Match[str], claims: pl.DataFrame) -> str:
    lines = ["| claim | stated | measured | verdict |", "|---|---|---|---|"]
    for claim in block["ids"].split(", "):
        rows = claims.filter((pl.col("paper") == block["of"]) & (pl.col("claim") == claim)).rows(named=True)
        if len(rows) != 1:
            raise InputError(f"no claim {claim!r} of {block['of']!r} is kept")
        lines.append(f"| `{claim}` | {rows[0]['stated']} | {_measured(rows[0])} | {rows[0]['verdict']} |")
    return "\n".join(lines)


def _measured(row: Mapping[str, Any]) -> str:
    values = (row["ours"] or "").split("; ")
    return "; ".join(values) if len(values) <= MOST_VALUES else f"{len(values)} values"


def _compared(suite: str, claims: pl.DataFrame) -> str:
    """Return a table of the claims that are judged on ``suite``, too, with both verdicts."""
    rows = {(row["paper"], row["claim"]): row for row in claims.iter_rows(named=True)}
    pairs = [
        (rows[paper, claim.partition(ELSEWHERE)[0]], row)
        for (paper, claim), row in rows.items()
        if claim.endswith(ELSEWHERE + suite) and row["verdict"] != "not run"
    ]
    if not pairs:
        raise InputError(f"no claim is judged on {suite!r}, too")
    lines = [
        f"| claim | stated | own suite | on {suite} | verdicts |",
        "|---|---|---|---|---|",
        *(
            f"| `{mine['claim']}` | {mine['stated']} | {_measured(mine)} | {_measured(other)} | "
            f"{mine['verdict']}, {other['verdict']} |"
            for mine, other in pairs
        ),
    ]
    return "\n".join(lines)


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
