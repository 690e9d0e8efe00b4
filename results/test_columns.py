from pathlib import Path

import numpy as np
import pytest

from leogym.results import columns
from leogym.results.measurement import COLUMNS, ordered

DOCS = Path(__file__).resolve().parents[1] / "docs/metrics.md"


def test_the_docs_tables_are_the_declared_columns():
    page = DOCS.read_text()
    assert columns.updated(page) == page, "python -m results.columns docs/metrics.md"


def test_a_number_that_a_backend_does_not_measure_is_nan_and_an_unknown_or_missing_column_an_error():
    row = {"link": "a", **{name: 1 for name in COLUMNS["links"] if name != "link"}}
    assert tuple(ordered("links", row)) == tuple(COLUMNS["links"])
    with pytest.raises(KeyError, match="unknown columns: speed"):
        ordered("links", {**row, "speed": 1})
    flows = {name: np.ones(2) for name in COLUMNS["flow_series"] if name != "pacing_mbps"}
    assert np.isnan(ordered("flow_series", flows)["pacing_mbps"]).all()
    with pytest.raises(KeyError, match="missing columns: flow, cwnd_packets"):
        ordered("flow_series", {"time_s": np.ones(2)})
