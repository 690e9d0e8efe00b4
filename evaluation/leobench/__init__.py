"""LeoBench: versions as data, judging, results and the scoreboard; see docs/leobench.md."""
