# shellcheck shell=bash
# Sourced by scripts that install Debian packages as root. `make` runs them side by side, and a new machine updates
# itself meanwhile. apt waits for the lock of an installation, but never for that of the package lists: so each script
# has lists of its own, and the machine's stay as they are.
apt_folder=$(mktemp -d)
trap 'rm -rf "$apt_folder"' EXIT
chmod 755 "$apt_folder"  # apt downloads as another user
mkdir -p "$apt_folder/lists/partial"
apt_options=(
    -o Dir::State::lists="$apt_folder/lists"
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
    -o DPkg::Lock::Timeout=600
    -o Acquire::Languages=none
)

apt_update() {
    apt-get "${apt_options[@]}" update -qq
}

apt_install() {
    DEBIAN_FRONTEND=noninteractive apt-get "${apt_options[@]}" install -qq -y --no-install-recommends "$@" \
        >/dev/null 2> >(grep -v '^debconf: delaying' >&2)
}
