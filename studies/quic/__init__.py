"""QUIC stacks and Linux's TCP on LEO paths."""
