#!/usr/bin/env bash
# Install QEMU for the lab (a stock kernel in virtual time) and build the guest's image. Without root and QEMU the lab's
# tests are skipped, by name. The image needs no root: its packages are unpacked, not installed.
set -euo pipefail

bin=${VIRTUAL_ENV:?}/bin
if ! command -v qemu-system-x86_64 >/dev/null; then
    unavailable() {
        echo "qemu-system-x86: $1: the lab's tests will be skipped; $2" >&2
        exit 0
    }
    command -v apt-get >/dev/null || unavailable "not installed" "install the package"
    [ "$(id -u)" = 0 ] || unavailable "not installed" "run scripts/lab.sh as root, or ask for the package"
    echo "installing qemu-system-x86 for the lab"
    . "$(dirname "$0")/apt.sh"
    apt_update
    apt_install qemu-system-x86 ||
        unavailable "not installed" "see the package manager's messages above"
fi
"$bin/python" -m kernel_bridge lab build || echo "the lab's tests will be skipped: no image" >&2
