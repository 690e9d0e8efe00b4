#!/usr/bin/env bash
# Check what the build of quiche needs beside Rust, for BoringSSL and its bindings, and print one line about what is missing; as
# root, install it with the system's package manager where possible.
set -euo pipefail
missing=()
command -v cmake >/dev/null || missing+=(cmake)
command -v make >/dev/null || missing+=(make)
command -v git >/dev/null || missing+=(git)  # patches BoringSSL
command -v clang >/dev/null || missing+=(clang)  # its libclang reads the headers
# Linked statically, as the project's other programs are.
echo 'int main() { return 0; }' | c++ -static -x c++ -o /dev/null - 2>/dev/null || missing+=(g++)
[ ${#missing[@]} != 0 ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing ${missing[*]} for quiche"
    . "$(dirname "$0")/apt.sh"
    apt_update && apt_install "${missing[@]}" && exit 0
fi
echo "quiche: ${missing[*]}: not installed, and its build needs it; ask for the packages, or run make quiche as root" >&2
exit 2
