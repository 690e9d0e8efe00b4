"""Programs of this machine on the hosts of a run: their files, their links, and their output."""
