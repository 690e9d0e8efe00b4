"""A stock Linux kernel in virtual time: QEMU counts instructions, and the count is the guest's clock."""
