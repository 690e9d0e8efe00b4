import polars as pl
import pytest

from leogym.evaluation.network import hops


@pytest.mark.parametrize("shared", [True, False])
def test_queues_are_those_of_the_links_of_the_route_of_the_interval(shared):
    # Stations a and b are nodes 2 and 3. After the first interval, the route has satellite 1 alone.
    routes = {"time_s": [0.0, 1.0], "pair": [0, 0], "nodes": [[2, 0, 1, 3], [2, 1, 3]]}
    up, down = ("a > satellites", "satellite 1 > ground") if shared else (None, "satellite 1 > b")
    series = [
        (1.0, up or "a > satellite 0", 6, 12.0),
        (1.0, "satellite 0 > satellite 1", 10, 100.0),
        (1.0, "satellite 1 > satellite 0", 99, 100.0),
        (2.0, up or "a > satellite 1", 1, 12.0),
        (2.0, "satellite 0 > satellite 1", 50, 100.0),
        (2.0, down, 3, 6.0),
    ]
    tables = {
        "flow_series": pl.DataFrame({"time_s": [1.0, 2.0, 1.0, 2.0]}),
        "routes": pl.DataFrame(routes, schema_overrides={"nodes": pl.List(pl.UInt32)}),
        "link_series": pl.DataFrame(
            series, schema=["time_s", "link", "queue_packets", "capacity_mbps"], orient="row"
        ),
    }
    rows = hops.queueing(tables, ["a", "b"], 2, shared)
    assert rows.rows() == [
        (1.0, 0, 0, 3, 6.0),
        (1.0, 0, 1, 3, pytest.approx(1.2)),
        (1.0, 0, 2, 3, 0.0),
        (2.0, 0, 0, 2, 1.0),
        (2.0, 0, 1, 2, 6.0),
    ]


def test_a_pair_without_a_route_has_no_rows_and_long_runs_are_sampled():
    tables = {
        "flow_series": pl.DataFrame({"time_s": [moment / 10 for moment in range(1, 1001)]}),
        "routes": pl.DataFrame(
            {"time_s": [0.0, 50.0], "pair": [0, 0], "nodes": [[1, 0, 2], []]},
            schema_overrides={"nodes": pl.List(pl.UInt32)},
        ),
        "link_series": pl.DataFrame(
            schema={
                "time_s": pl.Float64,
                "link": pl.String,
                "queue_packets": pl.UInt32,
                "capacity_mbps": pl.Float64,
            }
        ),
    }
    rows = hops.queueing(tables, ["a", "b"], 1, True)
    moments = rows["time_s"].unique()
    assert len(moments) in range(25, 31)
    assert moments.max() <= 50
    assert rows["delay_ms"].sum() == 0
