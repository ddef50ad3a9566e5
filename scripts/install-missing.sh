#!/bin/sh
# install-missing.sh PACKAGE PROGRAM...: installs a Debian package when none of its programs is found. Only root with apt-get may do that.
# Ends with 1 when the programs are still missing.
package=$1
shift
found() {
  for program; do command -v "$program" >/dev/null && return; done
  return 1
}
found "$@" && exit
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || exit 1
echo "installing $package with apt-get"
export DEBIAN_FRONTEND=noninteractive
quick='-qq -o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o DPkg::Lock::Timeout=60'
# shellcheck disable=SC2086
{ timeout 120 apt-get update $quick && apt-get install -y $quick "$package"; } </dev/null >/dev/null 2>&1
found "$@"
