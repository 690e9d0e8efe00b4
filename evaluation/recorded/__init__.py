"""An evaluation's folder: written run by run, read back as a whole."""
