"""What an evaluation leaves in its folder, written run by run and read back as one whole."""
