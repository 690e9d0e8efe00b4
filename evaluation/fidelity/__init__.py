"""The simulator's distance from the real kernel, scheme by scheme.

leogym fidelity [SCHEME…] [--runs]     # compare the simulator with the golden files
leogym fidelity record FOLDER [--keep] # make golden files from a lab evaluation
"""
