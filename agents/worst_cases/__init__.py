"""``leogym agents worst-cases``: search scenarios in which a scheme does worst compared with the oracle."""
