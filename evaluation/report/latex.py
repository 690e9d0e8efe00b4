"""``latex/``: tables and vector figures of an evaluation, ready for a paper."""

import io
import itertools
import re
from collections.abc import Collection, Sequence
from pathlib import Path

from matplotlib import rc_context

from leogym.common.atomic import write_atomically
from leogym.configs.suite import Suite
from leogym.evaluation.figures import figure_module
from leogym.evaluation.recorded import warnings
from leogym.evaluation.recorded.file_names import joined
from leogym.evaluation.recorded.results import Results
from leogym.evaluation.report import ranking
from leogym.evaluation.report.tables import Cell, table
from leogym.results import figure_style

PREAMBLE = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage[a4paper,margin=2cm,landscape]{geometry}
\usepackage{booktabs,graphicx,longtable}
\begin{document}
"""
MOST_ROWS = 40
"""Most rows of a table on one page; longer tables use ``longtable``."""
_SPECIAL = {
    **{char: rf"\{char}" for char in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "×": r"$\times$",
    "²": r"$^2$",
    "Σ": r"$\Sigma$",
    "–": "--",
    "’": "'",
    "“": "``",
    "”": "''",
}


def write(results: Results) -> Path:
    """Write ``latex/`` into the evaluation's folder and return it.

    ``ranking.tex`` and one file per suite hold tables (packages booktabs and longtable), ``figures/`` has
    PDFs, and ``all.tex`` is a document of all of these, to view and to copy from. Stale files are removed.
    """
    folder = results.folder / "latex"
    files: dict[str, bytes] = {}
    body = []
    if places := ranking.ranking(results):
        files["ranking.tex"] = _ranking(places).encode()
        body.append("\\section{Power ranking}\n\\input{ranking}\n")
    for suite in results.suites:
        name = _unused(_plain(suite.name), files)
        files[f"{name}.tex"] = suite_table(results, suite).encode()
        body.append(f"\\section{{{escaped(suite.title)}}}\n{{\\small\n\\input{{{name}}}\n}}\n")
        for kind in suite.figures:
            for panel in figure_module(kind).panels(results, suite):
                path = f"figures/{_unused(_plain(panel.name), files, 'figures/{}.pdf')}.pdf"
                files[path] = pdf(panel)
                body.append(f"\\includegraphics{{{path}}}")
    earlier = _included(folder / "all.tex")
    files["all.tex"] = (PREAMBLE + "\n".join(body) + "\n\\end{document}\n").encode()
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        write_atomically(folder / name, data)
    for stale in earlier - files.keys():
        (folder / stale).unlink(missing_ok=True)
    return folder


def _included(path: Path) -> set[str]:
    """Return the files of an earlier ``all.tex``; others in its folder are a user's own."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    tables = re.findall(r"\\input\{([\w+.-]+)\}", text)
    return {f"{name}.tex" for name in tables} | set(re.findall(r"\{(figures/[\w+.-]+\.pdf)\}", text))


def suite_table(results: Results, suite: Suite) -> str:
    """Return a suite's table: a group of rows per scenario, the best in bold, 95 % intervals in brackets."""
    metrics = results.headline(suite)
    head = [
        "Scheme",
        *(escaped(metric.label + (f" ({metric.unit})" if metric.unit else "")) for metric in metrics),
    ]
    groups = []
    for scenario in results.scenarios(suite.name):
        out = warnings.starved_in(results, suite.name, scenario)
        rows = [
            [escaped(scheme) + (" (starved)" if scheme in out else ""), *map(_cell, cells)]
            for scheme, cells in table(results, suite, scenario)
        ]
        groups.append((scenario, rows))
    quick = " With --quick: a look, not a result." if results.quick else ""
    note = f"{suite.name}: mean over repeats, 95 % interval in brackets; the best in bold.{quick}"
    return _tabular(head, groups, note)


def pdf(panel: figure_style.Panel) -> bytes:
    """Return a panel as PDF with selectable text; deterministic."""
    buffer = io.BytesIO()
    with rc_context({**figure_style.RC, "pdf.fonttype": 42}):
        about = {"CreationDate": None, "Creator": "LeoGym", "Producer": None, "Title": panel.label}
        panel.figure.savefig(buffer, format="pdf", metadata=about)
    return buffer.getvalue()


def escaped(text: str) -> str:
    """Escape text for LaTeX."""
    return "".join(_SPECIAL.get(char, char) for char in text)


def _ranking(places: Sequence[ranking.Place]) -> str:
    rows = []
    for place in places:
        has_interval = place.power.low == place.power.low  # NaN with only one suite
        edges = f"[{place.power.low:.2f}, {place.power.high:.2f}]" if has_interval else ""
        rank = str(place.rank) if place.rank else "--"
        rows.append([rank, escaped(place.scheme), f"{place.power.mean:.2f} {edges}", str(len(place.suites))])
    note = "Relative power: share of the best scheme's power, mean over suites, 95 % interval in brackets."
    return _tabular(["Rank", "Scheme", "Relative power", "Suites"], [("", rows)], note, "rlrr")


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return "--"
    mean = rf"\textbf{{{cell.mean}}}" if cell.best else cell.mean
    return mean + (rf" {{\scriptsize [{cell.low}, {cell.high}]}}" if cell.low else "")


def _tabular(
    head: Sequence[str], groups: Sequence[tuple[str, list[list[str]]]], note: str, columns: str = ""
) -> str:
    """Return a table with escaped ``head`` and rows; groups are pairs of unescaped title and rows.

    A group with an empty title has no title line. ``note`` is the text of the comment at the top; by default
    ``columns`` aligns the first column left and the others right.
    """
    rows = sum(len(group_rows) + bool(title) for title, group_rows in groups)
    environment = "longtable" if rows > MOST_ROWS else "tabular"
    lines = [
        f"% {note}",
        rf"\begin{{{environment}}}{{{columns or 'l' + 'r' * (len(head) - 1)}}}",
        r"\toprule",
        " & ".join(head) + r" \\",
    ]
    if environment == "longtable":
        lines += [r"\midrule", r"\endhead"]
    for index, (title, group_rows) in enumerate(groups):
        if index or environment == "tabular":
            lines.append(r"\midrule")
        if title:
            lines.append(rf"\multicolumn{{{len(head)}}}{{l}}{{\textit{{{escaped(title)}}}}} \\")
        lines += [" & ".join(row) + r" \\" for row in group_rows]
    return "\n".join([*lines, r"\bottomrule", rf"\end{{{environment}}}", ""])


def _unused(name: str, files: Collection[str], pattern: str = "{}.tex") -> str:
    """Return ``name``, with a number if it is that of the document or of another suite's or panel's file.

    LaTeX's macros take few characters, so different names may have the same plain one.
    """
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(free for free in names if pattern.format(free) not in {*files, "all.tex", "ranking.tex"})


def _plain(name: str) -> str:
    return re.sub(r"[^\w+.-]", "-", joined(name), flags=re.ASCII).replace("_", "-")
