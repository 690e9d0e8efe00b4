"""Programs that run as root inside private namespaces and the lab's guest, started with `python -m`.

They import only the standard library, this package and leo-bridge's client: namespaces run without
site-packages, and the guest has only its image.
"""
