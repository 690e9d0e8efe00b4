"""Programs that others wrote, each run in a confined process of its own."""
