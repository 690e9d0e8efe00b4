#!/usr/bin/env bash
# Install mahimahi, iperf3 and a C compiler for the tests with real link shells. Without root these are skipped, by
# name.
#
# Debian has mahimahi up to 11 (bullseye), Ubuntu up to 20.04. Debian 12 and later can run Debian 11's package. We get
# it from the machine's current mirror with a private apt configuration, which leaves the machine's own sources and
# pins unchanged.
set -euo pipefail

missing=()
command -v mm-link >/dev/null || missing+=(mahimahi)
command -v iperf3 >/dev/null || missing+=(iperf3)
command -v iptables >/dev/null || [ -x /usr/sbin/iptables ] || missing+=(iptables)
command -v cc >/dev/null || missing+=(gcc libc6-dev)
[ ${#missing[@]} = 0 ] && exit 0

unavailable() {
    echo "${missing[*]}: $1: the tests behind mahimahi's shells will be skipped; $2" >&2
    exit 0
}
source_of="see mahimahi.mit.edu for its source"
command -v apt-get >/dev/null ||
    unavailable "not installed" "install the packages ${missing[*]}, or build mahimahi ($source_of)"
[ "$(id -u)" = 0 ] ||
    unavailable "not installed" "run scripts/mahimahi.sh as root, or ask for the packages ${missing[*]}"

. "$(dirname "$0")/apt.sh"
mkdir -p "$apt_folder"/{sources.list.d,preferences.d}
for part in sources.list.d preferences.d; do
    if [ -d /etc/apt/$part ]; then cp -a /etc/apt/$part "$apt_folder"; fi
done
apt_options+=(
    -o Dir::Etc::sourceparts="$apt_folder/sources.list.d"
    -o Dir::Etc::preferencesparts="$apt_folder/preferences.d"
)
echo "installing ${missing[*]} for the tests behind mahimahi's shells"
apt_update

if [[ " ${missing[*]} " == *" mahimahi "* ]] && ! apt-cache "${apt_options[@]}" show mahimahi >/dev/null 2>&1; then
    mirror=$(apt-get "${apt_options[@]}" indextargets --format '$(ORIGIN)|$(LABEL)|$(COMPONENT)|$(SITE)' 'Created-By: Packages' |
        awk -F'|' '$1 == "Debian" && $2 == "Debian" && $3 == "main" {print $4; exit}')
    [ -n "$mirror" ] || unavailable "no package on this system" "build mahimahi ($source_of)"
    printf 'deb [signed-by=%s] %s bullseye main\n' \
        /usr/share/keyrings/debian-archive-keyring.gpg "$mirror" >"$apt_folder/sources.list.d/bullseye.list"
    missing+=(gnuplot-nox)  # mahimahi depends on gnuplot; this variant needs no desktop libraries
    # Use bullseye only for packages that newer releases lack.
    printf 'Package: *\nPin: release n=bullseye\nPin-Priority: 100\n' >"$apt_folder/preferences.d/bullseye"
    apt_update
fi
apt_install "${missing[@]}" ||
    unavailable "not installed" "see the package manager's messages above"
