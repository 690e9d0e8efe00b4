"""An evaluation's output folder: written run by run, read back as a whole."""
