#!/usr/bin/env bash
# Install leo-bridge with its eBPF programs into the virtual environment, or run the command given instead, which builds
# it. Without root and without clang, libelf and zlib, skip it; the tests on the live kernel are then skipped, by name.
set -euo pipefail

bin=${VIRTUAL_ENV:?}/bin
cc=$(command -v cc || true)
has_header() { [ -n "$cc" ] && echo "#include <$1>" | "$cc" -E -x c - >/dev/null 2>&1; }

missing=()
[ -n "$cc" ] || missing+=(gcc libc6-dev)
command -v "${CLANG:-clang}" >/dev/null || missing+=(clang)
command -v make >/dev/null || missing+=(make)  # builds libbpf
command -v pkg-config >/dev/null || missing+=(pkg-config)
has_header libelf.h || missing+=(libelf-dev)
has_header zlib.h || missing+=(zlib1g-dev)
# Also needed by the tests on the live kernel.
command -v ip >/dev/null && command -v ss >/dev/null || missing+=(iproute2)
command -v iperf3 >/dev/null || missing+=(iperf3)

unavailable() {
    echo "${missing[*]}: $1: leo-bridge is not built and its tests will be skipped; $2" >&2
    exit 0
}
if [ ${#missing[@]} != 0 ]; then
    command -v apt-get >/dev/null || unavailable "not installed" "install the packages ${missing[*]}"
    [ "$(id -u)" = 0 ] ||
        unavailable "not installed" "run \`make kernel\` as root, or ask for the packages ${missing[*]}"
    echo "installing ${missing[*]} for leo-bridge"
    . "$(dirname "$0")/apt.sh"
    apt_update
    apt_install "${missing[@]}" ||
        unavailable "not installed" "see the package manager's messages above"
fi

if [ $# != 0 ]; then exec "$@"; fi
folder=$(dirname "$0")
"$folder/static.sh" cargo build --quiet --locked --release --package leo-bridge --features static
install -m 755 "$("$folder/static.sh" --output)/leo-bridge" "$bin/leo-bridge"
