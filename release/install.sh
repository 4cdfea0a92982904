#!/bin/sh
# Installs headstart @VERSION@ for this user: fetches the archive for this machine, compares its sum with the one below, and puts the binary into
# $HEADSTART_INSTALL_DIR, else ~/.local/bin. Nothing else is changed. To remove it, remove that file.
set -eu

version='@VERSION@'
url='@URL@'
sums='@SUMS@'

say() { printf '%s\n' "$*" >&2; }
fail() { say "headstart: $*"; exit 1; }

target() {
  case $(uname -s) in
    Linux) system=unknown-linux ;;
    Darwin) system=apple-darwin ;;
    MINGW* | MSYS* | CYGWIN*) printf x86_64-pc-windows-msvc; return ;;
    *) fail "there is no binary for $(uname -s)" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) cpu=x86_64 ;;
    aarch64 | arm64) cpu=aarch64 ;;
    *) fail "there is no binary for $(uname -m); build it: cargo install headstart" ;;
  esac
  [ "$system" = apple-darwin ] && { printf '%s' "$cpu-$system"; return; }
  # The binary for musl is static and runs everywhere; the one for glibc needs as new a glibc as it was built with.
  if [ -n "${HEADSTART_LIBC:-}" ]; then
    libc=$HEADSTART_LIBC
  elif ldd --version 2>&1 | grep -qi musl || ! glibc_is_new; then
    libc=musl
  else
    libc=gnu
  fi
  printf '%s' "$cpu-$system-$libc"
}

# Whether there is a glibc of at least 2.35, the one of the machine that builds releases.
glibc_is_new() {
  found=$(getconf GNU_LIBC_VERSION 2>/dev/null) || return 1
  minor=${found##*.}
  case $found in
    'glibc 2.'*) [ "$minor" -ge 35 ] ;;
    *) return 1 ;;
  esac
}

fetch() {
  if command -v curl >/dev/null; then
    curl -fsSL "$1" -o "$2"
  elif command -v wget >/dev/null; then
    wget -q "$1" -O "$2"
  else
    fail "neither curl nor wget is installed"
  fi
}

sum_of() {
  if command -v sha256sum >/dev/null; then
    sha256sum <"$1"
  elif command -v shasum >/dev/null; then
    shasum -a 256 <"$1"
  else
    fail "neither sha256sum nor shasum is installed, so what was fetched cannot be checked"
  fi | cut -d ' ' -f 1
}

main() {
  triple=$(target)
  name=headstart-$version-$triple
  case $triple in
    *-windows-*) binary=headstart.exe ;;
    *) binary=headstart ;;
  esac
  wanted=$(printf '%s\n' "$sums" | grep " $name.tar.gz\$" | cut -d ' ' -f 1) || true
  [ -n "$wanted" ] || fail "this release has no $name; build it: cargo install headstart"
  folder=${HEADSTART_INSTALL_DIR:-${HOME:?is not set; name a folder in HEADSTART_INSTALL_DIR}/.local/bin}
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  trap 'exit 1' HUP INT TERM
  fetch "$url/$name.tar.gz" "$work/archive" || fail "$url/$name.tar.gz cannot be fetched"
  found=$(sum_of "$work/archive")
  [ "$found" = "$wanted" ] || fail "$name.tar.gz is not what was released: its SHA-256 is $found, not $wanted; nothing was installed"
  tar -xzf "$work/archive" -C "$work" "$name/$binary"
  "$work/$name/$binary" --version >/dev/null || fail "the binary does not run here; try HEADSTART_LIBC=musl, or build it: cargo install headstart"
  mkdir -p "$folder"
  # A rename in the same folder: one that runs goes on with the old file.
  cp "$work/$name/$binary" "$folder/.$$.$binary"
  mv -f "$folder/.$$.$binary" "$folder/$binary"
  say "installed: $folder/$binary ($("$folder/$binary" --version))"
  case ":$PATH:" in
    *":$folder:"*) say "Next: headstart" ;;
    *) say "$folder is not in your PATH; add it, or start $folder/$binary" ;;
  esac
}

# All of it is read before any of it runs: a connection that breaks off leaves half a script that does nothing.
main
