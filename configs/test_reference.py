"""The scenario's reference in the docs is that of the schema."""

from pathlib import Path

from leogym.configs import file_reference, reference

DOCS = Path(__file__).resolve().parents[1] / "docs/scenario.md"


def test_every_key_has_a_meaning():
    assert "|  |" not in reference.page()


def test_the_reference_is_the_schemas():
    assert DOCS.read_text() == reference.page(), "python -m configs.reference docs/scenario.md"


def test_the_page_of_suites_sweeps_and_samplers_is_the_schemas() -> None:
    text = DOCS.with_name("files.md").read_text()
    assert len(file_reference.TABLES.findall(text)) == 3
    assert "|  |" not in text
    assert file_reference.page(text) == text, "python -m configs.file_reference docs/files.md"
