"""Papers' claims about congestion control on satellite paths, as data, and checks against our runs.

Each ``claims/PAPER.yaml`` holds one paper's numbers, orderings and effects in our words.
"""
