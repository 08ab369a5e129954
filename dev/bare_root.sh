# Bare Debian roots, for dev/test_wheel and dev/test_deb, which source this file:
#
#   enter_root SUITE   a fresh copy of a bare root of the release; its path is in $root, examples/ is in its /srv
#   in_root COMMANDS   runs commands of bash there
#   leave_root         removes it
#
# The base roots are kept in build/roots.

[ "$(id -u)" = 0 ] || { echo "$(basename "$0"): chroot needs root; run this as root" >&2; exit 2; }
command -v debootstrap >/dev/null || { apt-get -qq update && apt-get -qq -y install debootstrap; } >/dev/null
mirror=$({ cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources 2>/dev/null || true; } |
  sed -nE 's/^(URIs:|deb( \[[^]]*\])?) +([^ ]+).*/\3/p' | grep -v security | head -1 || true)

enter_root() {
  local base=$PWD/build/roots/$1 file
  if [ ! -e "$base/.complete" ]; then
    echo "$(basename "$0"): making a root of $1"
    rm -rf "$base" && mkdir -p "$base"
    debootstrap --variant=minbase --include=ca-certificates,python3,python3-pip,python3-venv "$1" "$base" "$mirror" \
      >"build/roots/$1.log" 2>&1 || { tail -5 "build/roots/$1.log" >&2; exit 1; }
    touch "$base/.complete"
  fi
  root=$PWD/build/roots/$1.run
  rm -rf "$root" && cp -a --reflink=auto "$base" "$root"
  mkdir -p "$root/srv"
  cp -r examples "$root/srv/"
  # The package clients of this machine: names, certificates, settings.
  for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/apt/apt.conf.d /etc/ssl/certs /usr/share/ca-certificates \
    /root/.config/pip; do
    [ -e "$file" ] || continue
    mkdir -p "$root$(dirname "$file")"
    cp -aL "$file" "$root$(dirname "$file")/" 2>/dev/null || true
  done
  mount -t proc proc "$root/proc"
  trap leave_root EXIT
}

in_root() {
  # shellcheck disable=SC2046
  env -i HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin \
    $(env | grep -E '^(PIP_INDEX|PIP_EXTRA|PIP_TRUSTED|SSL_CERT|REQUESTS_CA)' | tr '\n' ' ') \
    chroot "$root" /bin/bash -euc "$1"
}

leave_root() {
  umount -l "$root/proc" 2>/dev/null || true
  rm -rf --one-file-system "$root"
  trap - EXIT
}
