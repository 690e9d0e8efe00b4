"""The report: page, tables, rankings, and tables for terminals and papers."""
