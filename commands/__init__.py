"""The command ``leogym``, which hands over to the rooms' commands."""
