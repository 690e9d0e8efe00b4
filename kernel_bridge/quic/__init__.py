"""QUIC stacks as schemes: their programs, and what their logs measure."""
