from pathlib import Path

from leogym.configs import suite_table

DOCS = Path(__file__).resolve().parents[1] / "docs/suites.md"


def test_the_docs_have_the_table_of_the_shipped_suites() -> None:
    assert DOCS.read_text() == suite_table.page(), "python -m configs.suite_table docs/suites.md"
