#!/usr/bin/env bash
# Say in one line what this machine lacks before anything is built.
set -euo pipefail
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    { echo "setup: Python >= 3.11 is needed; $python is $("$python" --version 2>&1)" >&2; exit 2; }
command -v cargo >/dev/null ||
    { echo "setup: a Rust toolchain is needed (cargo is not on the PATH); see rustup.rs" >&2; exit 2; }
"$python" -c 'import ensurepip' 2>/dev/null && exit 0
# Debian and Ubuntu keep the venv module in a package of its own.
package=$("$python" -c 'import sys; print(f"python3.{sys.version_info[1]}-venv")')
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq && apt-get install -qq -y --no-install-recommends "$package" >/dev/null
else
    echo "setup: $python has no venv module; install $package" >&2
    exit 2
fi
