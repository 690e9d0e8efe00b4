#!/usr/bin/env bash
# Install QEMU for the lab (a stock kernel in virtual time) and zstd, with which some distributions compress their kernels.
# Then build the guest's image. The image needs no root: its packages are unpacked, not installed. Without QEMU the lab's
# tests are skipped, by name.
set -euo pipefail

bin=${VIRTUAL_ENV:?}/bin
missing=()
command -v qemu-system-x86_64 >/dev/null || missing+=(qemu-system-x86)
command -v zstd >/dev/null || missing+=(zstd)
if [ ${#missing[@]} != 0 ]; then
    remedy=
    if ! command -v apt-get >/dev/null; then
        remedy="install the packages ${missing[*]}"
    elif [ "$(id -u)" != 0 ]; then
        remedy="run scripts/lab.sh as root, or ask for the packages ${missing[*]}"
    else
        echo "installing ${missing[*]} for the lab"
        . "$(dirname "$0")/apt.sh"
        apt_update
        apt_install "${missing[@]}" || remedy="see the package manager's messages above"
    fi
    [ -z "$remedy" ] || echo "${missing[*]}: not installed: $remedy" >&2
    if ! command -v qemu-system-x86_64 >/dev/null; then
        echo "the lab's tests will be skipped: no QEMU" >&2
        exit 0
    fi
fi
"$bin/leogym" lab build || echo "the lab's tests will be skipped: no image" >&2
