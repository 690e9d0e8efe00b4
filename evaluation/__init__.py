"""From runs to figures: suites, runs, metrics, intervals, tables, the report."""
