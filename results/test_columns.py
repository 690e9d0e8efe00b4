from pathlib import Path

import numpy as np
import pytest

from results import columns
from results.measurement import COLUMNS, ordered

DOCS = Path(__file__).parents[1] / "docs/metrics.md"


def test_the_docs_tables_are_the_declared_columns():
    page = DOCS.read_text()
    assert columns.updated(page) == page, "python -m results.columns docs/metrics.md"


def test_a_column_that_a_backend_does_not_measure_is_nan_and_an_unknown_one_is_an_error():
    found = ordered("link_series", {"link": np.zeros(2, np.uint32), "time_s": np.ones(2)})
    assert tuple(found) == COLUMNS["link_series"]
    assert np.isnan(found["queue_packets"]).all()
    with pytest.raises(KeyError, match="unknown columns: speed"):
        ordered("links", {"link": "a", "speed": 1})
