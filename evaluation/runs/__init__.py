"""What is run and how: schemes, plans, the traces and policies they need, and backends."""
