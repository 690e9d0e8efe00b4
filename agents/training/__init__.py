"""Code that all training runs share: settings, run folder, simulations, stopping, tracking, evaluation."""
