#!/usr/bin/env bash
# Install Chromium for the report's test. Without root the test is skipped, by name.
set -euo pipefail
for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null; then exit 0; fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing chromium for the report's test"
    . "$(dirname "$0")/apt.sh"
    apt_update
    apt_install chromium
else
    echo "chromium is missing: the report's test in a browser will be skipped; install the package chromium" >&2
fi
