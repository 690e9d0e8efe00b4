"""What papers state about congestion control on satellite paths, as data, and what our runs say of it.

Each ``PAPER.yaml`` beside this file holds one paper's numbers, orderings and effects in our words.
"""
