"""What every training run has: settings, a folder, simulations, stopping, tracking and judging."""
