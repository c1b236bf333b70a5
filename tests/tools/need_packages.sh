#!/usr/bin/env bash
# Makes sure that Debian packages are there: installs what is missing when root, else says what to install.
# Usage: need_packages.sh PACKAGE...
set -euo pipefail
cd "$(dirname "$0")/../.."

# Parts of a test run ask side by side, and apt serves one.
mkdir -p .build
exec 9>.build/packages.lock
flock 9

missing=()
for package in "$@"; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ "${#missing[@]}" -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "This is no Debian system; what these Debian packages hold is needed: ${missing[*]}" >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "Packages are missing. As root: apt-get install ${missing[*]}" >&2
  exit 1
fi

mkdir -p .build/logs
log=.build/logs/apt.log
echo "Installing Debian packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update && apt-get install --yes --no-install-recommends "${missing[@]}"; } >>"$log" 2>&1 </dev/null; then
  tail -n 20 "$log" >&2
  echo "Could not install ${missing[*]}; all of it is in $log" >&2
  exit 1
fi
