"""From runs to figures: suites, runs, tables, the report."""
