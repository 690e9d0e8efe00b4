"""Sphinx builds the documentation's site from the project's Markdown pages: ``make docs``.

The source folder is the project's root, so that links between pages, rooms and files work as in a checkout.
"""

import __future__

import importlib
import json
import re
import sys
import types
from pathlib import Path

from docutils import nodes
from docutils.utils import new_document
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx
from sphinx.ext.autodoc.mock import mock
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[1]
NAVIGATION = {
    "Start": ("docs/install", "docs/tutorial", "docs/tasks/*"),
    "Guides": (
        *("docs/running", "docs/use-with/README", "docs/new-agent/README", "docs/policies"),
        *("docs/leobench", "docs/cluster"),
    ),
    "Reference": (
        *("docs/api", "docs/environments", "docs/scenario", "docs/files", "docs/paths", "docs/networks"),
        *("docs/schemes", "docs/metrics", "docs/simulator", "docs/suites"),
    ),
    "Development": ("docs/architecture", "CONTRIBUTING", "docs/add-a-*"),
    "More": ("docs/*", "docs/*/*"),
    "Studies": ("studies/README", "studies/papers/README", "studies/*/*", "studies/*/*/README"),
    "Rooms": ("*/README", "*/*/README"),
}
"""The site's menu: patterns of pages under each caption. A page appears under the first that matches."""
DOCUMENTED = (
    *("leogym.agents.export", "leogym.evaluation", "leogym.traces", "leogym.envs.flow"),
    *("leogym.envs.parallel", "leogym.envs.rllib", "leogym.envs.sb3"),
)
"""Modules on the page of the API."""
FOLDER_LINK = re.compile(r"\[([^\]]+)\]\(([^()#:\s]+)\)")
ENTRANCE = '<meta http-equiv="refresh" content="0; url=README.html"><a href="README.html">LeoGym</a>\n'

project = "LeoGym"
author = "The LeoGym authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "README"
include_patterns = [
    *("README.md", "CONTRIBUTING.md", "**/README.md", "docs/**.md", "docs/tutorial.ipynb"),
    "studies/papers/*.md",
    "studies/*/journal.md",
]
exclude_patterns = [".*", "**/.*", "**/target", "dist", "leogym", "runs", "target"]
html_theme = "furo"
html_title = "LeoGym"
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
myst_heading_anchors = 4
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True}
autodoc_mock_imports = [
    "ray",
    "stable_baselines3",
    "torch",
]  # slow imports
suppress_warnings = ["misc.highlighting_failure"]  # ellipses in excerpts, shell lines in notebooks


def read_stub() -> None:
    """Make autodoc read ``leosim.pyi``, whose docstrings and annotations are those that editors show."""
    with mock(autodoc_mock_imports):
        for name in DOCUMENTED:  # they need the compiled module
            importlib.import_module(name)
    path = ROOT / "core/py/leosim.pyi"
    module = types.ModuleType("leosim")
    flags = __future__.annotations.compiler_flag
    exec(compile(path.read_text(encoding="utf-8"), path, "exec", flags), module.__dict__)
    sys.modules["leosim"] = module


class Markdown(SphinxDirective):
    """A docstring in Markdown, as Gymnasium's environments have."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the text; headings become bold lines."""
        document = new_document("docstring", self.state.document.settings)
        MystParser().parse(re.sub(r"(?m)^## (.*)$", r"**\1**\n", "\n".join(self.content)), document)
        return document.children


class Notebook(MystParser):
    """A Jupyter notebook as a page: its Markdown, and its code without outputs."""

    supported = ("ipynb",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Parse the notebook's JSON."""
        cells = []
        for cell in json.loads(inputstring)["cells"]:
            text = "".join(cell["source"])
            cells.append(text if cell["cell_type"] == "markdown" else f"```ipython3\n{text}\n```")
        super().parse("\n\n".join(cells), document)


def mark_markdown(app: Sphinx, kind: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Give docstrings with Markdown's headings to the directive that reads them."""
    if any(line.startswith("## ") for line in lines):
        lines[:] = [".. markdown::", "", *(f"   {line}" for line in lines), ""]


def adapt_page(app: Sphinx, page: str, source: list[str]) -> None:
    """Drop links to folders, which a site has none of, and give the first page the menu."""
    folder = (ROOT / page).parent

    def text_or_link(match: re.Match[str]) -> str:
        return match[1] if (folder / match[2]).is_dir() else match[0]

    source[0] = FOLDER_LINK.sub(text_or_link, source[0])
    if page != root_doc:
        return
    listed = {root_doc}
    for caption, patterns in NAVIGATION.items():
        pages = dict.fromkeys(
            name for pattern in patterns for name in pages_of(app, pattern) if name not in listed
        )
        listed.update(pages)
        menu = "\n".join(f"/{name}" for name in pages)
        source[0] += f"\n\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{menu}\n```\n"


def pages_of(app: Sphinx, pattern: str) -> list[str]:
    """Return the pages that match a pattern, in which ``*`` is one folder or file."""
    depth = pattern.count("/")
    return [
        name for name in sorted(app.env.found_docs) if name.count("/") == depth and Path(name).match(pattern)
    ]


def write_entrance(app: Sphinx, error: Exception | None) -> None:
    """Write ``index.html``, which leads to the first page."""
    if error is None:
        (Path(app.outdir) / "index.html").write_text(ENTRANCE, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Connect the above with Sphinx."""
    read_stub()
    app.add_directive("markdown", Markdown)
    app.add_source_suffix(".ipynb", "ipynb")
    app.add_source_parser(Notebook)
    app.connect("autodoc-process-docstring", mark_markdown, priority=400)
    app.connect("source-read", adapt_page)
    app.connect("build-finished", write_entrance)
