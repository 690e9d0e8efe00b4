"""Run suites and make tables, figures and the report."""
