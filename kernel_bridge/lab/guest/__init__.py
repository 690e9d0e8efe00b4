"""What runs inside the guest."""
