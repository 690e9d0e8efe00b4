"""A stock Linux kernel in virtual time: QEMU counts instructions, and they are its clock."""
