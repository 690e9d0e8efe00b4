"""The report's figures, one kind a file. Each returns panels, saved alone and inlined in the report."""
