"""What runs inside private namespaces and inside the lab's guest: programs that `python -m` starts as root.

They import the standard library, this package and leo-bridge's client, and nothing else: a namespace has no
site-packages, and the guest has no more than its image.
"""
