"""Continents of a run: each flow counts where its sender is, and transfers do not count."""

import polars as pl
import pytest

from leogym.evaluation.network import regions
from leogym.traces.orbit import places

FLOWS = pl.DataFrame(
    {
        "from": ["lis", "50,20", "nbo", "nbo", "tyo", "lis"],
        "transfer_bytes": [None, None, None, None, None, 1000],
        "goodput_mbps": [9.0, 3.0, 2.0, 2.0, 0.0, 5.0],
        "normalized_goodput": [0.9, 0.3, 0.2, 0.2, float("nan"), 0.5],
        "delay_inflation": [1.0, 2.0, 3.0, 5.0, float("nan"), 9.0],
    }
)
SITES = [places.parse(name, "").model_copy(update={"name": name}) for name in ("lis", "50,20", "nbo", "tyo")]


def test_each_continent_has_its_flows_and_the_last_row_has_all():
    rows = {row.pop("region"): row for row in regions.table(FLOWS, SITES).to_dicts()}
    assert list(rows) == ["Africa", "Asia", "Europe", "all"]
    assert rows["Africa"] == {
        "flows": 2,
        "goodput_mbps": 4.0,
        "normalized_goodput": 0.2,
        "delay_inflation": 4.0,
        "jain": 1.0,
    }
    assert rows["Asia"]["jain"] is rows["Asia"]["delay_inflation"] is None
    assert rows["Europe"]["jain"] == pytest.approx(144 / (2 * 90))
    assert rows["all"]["flows"] == 5
    assert rows["all"]["jain"] == pytest.approx(256 / (5 * 98))


def test_a_run_of_transfers_alone_has_no_continents():
    assert regions.table(FLOWS.filter(pl.col("transfer_bytes") > 0), SITES).is_empty()
