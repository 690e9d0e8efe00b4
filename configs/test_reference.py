"""The scenario's reference in the docs is that of the schema."""

from pathlib import Path

from leogym.configs import reference

DOCS = Path(__file__).resolve().parents[1] / "docs/scenario.md"


def test_every_key_has_a_meaning():
    assert "|  |" not in reference.page()


def test_the_reference_is_the_schemas():
    assert DOCS.read_text() == reference.page(), "python -m configs.reference docs/scenario.md"
