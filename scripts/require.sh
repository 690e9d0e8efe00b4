#!/usr/bin/env bash
# Check the build's requirements and print one line about what is missing; as root, install it with the system's package
# manager where possible.
set -euo pipefail
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    { echo "setup: Python >= 3.11 is needed; $python is $("$python" --version 2>&1)" >&2; exit 2; }
rust=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$(dirname "$0")/../Cargo.toml")
command -v cargo >/dev/null ||
    { echo "setup: Rust >= $rust is needed, and cargo is not on the PATH: install it with rustup (rustup.rs)" >&2; exit 2; }
# rustup's cargo has no version before a toolchain is chosen, and says so on stderr.
cargo=$(cargo --version 2>/dev/null | cut -d ' ' -f 2) || cargo=
printf '%s\n' "$rust" "$cargo" | sort --check=quiet --version-sort ||
    { echo "setup: Rust >= $rust is needed, and this is ${cargo:-none}: install it with rustup (rustup.rs)" >&2; exit 2; }

missing=()
# rustup installs no linker, and Debian's gcc no C library to link with: only a linked program shows that both are there.
# The project's own programs are linked statically (Fedora: glibc-static).
echo 'int main(void) { return 0; }' | cc -static -x c -o /dev/null - 2>/dev/null || missing+=(gcc libc6-dev)
# Debian and Ubuntu have the venv module in a separate package.
"$python" -c 'import ensurepip' 2>/dev/null ||
    missing+=("$("$python" -c 'import sys; print(f"python3.{sys.version_info[1]}-venv")')")
[ ${#missing[@]} != 0 ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing ${missing[*]}"
    . "$(dirname "$0")/apt.sh"
    apt_update && apt_install "${missing[@]}" && exit 0
fi
echo "setup: ${missing[*]}: not installed, and setup needs it; ask for the packages, or run make setup as root" >&2
exit 2
