#!/usr/bin/env bash
# Run a command, such as cargo or maturin, that links programs statically: they run on every Linux of this architecture.
# Build scripts and procedural macros are linked as usual, because a target is named. With --output, print the folder of
# release builds.
set -euo pipefail
target=$(rustc -vV | sed -n 's/^host: //p')
flags="-C target-feature=+crt-static"
# Debian 13's libelf uses zstd, which its static library does not include.
if pkg-config --static --libs-only-l libelf 2>/dev/null | grep -q zstd; then flags+=" -C link-arg=-lzstd"; fi
variable=CARGO_TARGET_${target//-/_}_RUSTFLAGS
export CARGO_BUILD_TARGET=$target "${variable^^}=$flags"
# Only here does rustc look for libelf.a and libz.a.
LIBBPF_SYS_LIBRARY_PATH=$(dirname "$(cc -print-file-name=libelf.a)")
export LIBBPF_SYS_LIBRARY_PATH
if [ "$*" = --output ]; then echo "${CARGO_TARGET_DIR:-target}/$target/release"; exit; fi
exec "$@"
