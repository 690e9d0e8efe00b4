"""``leogym agents worst-cases``: search scenarios in which a scheme does worst beside the oracle."""
