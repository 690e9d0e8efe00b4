import polars as pl
import pytest

from leogym.configs import suite as suites
from studies.papers import cost

SUITE = """
name: small
title: small
schemes: [cubic, reno]
repeats: 6
parameters: {duration_s: 30}
scenario:
  duration_s: $duration_s
  links: {l: {rate_mbps: 10, delay_ms: 5}}
  flows: [{scheme: $scheme, route: [l]}]
quick: {repeats: 2, parameters: {duration_s: 3}}
"""


def test_a_full_suite_costs_as_much_more_as_it_is_longer_and_repeated_more(tmp_path, capsys):
    file = tmp_path / "small.yaml"
    file.write_text(SUITE)
    table = cost.of_suite(suites.load(str(file)))
    assert table["scheme"].to_list() == ["cubic", "reno"]
    assert (table["full_s"] / table["quick_s"]).to_list() == pytest.approx([30.0, 30.0])
    assert cost.of_suite(suites.load(str(file)), {"reno"})["quick_s"].to_list()[1] == 0
    cost.print_table(pl.concat([table, table.with_columns(pl.lit("other").alias("suite"))]), "suite")
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()].count("small") == 1
