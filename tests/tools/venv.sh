#!/usr/bin/env bash
# Creates a virtual environment, or adds what it lacks where what is asked for has changed. Quiet unless it fails.
# Usage: venv.sh FOLDER PYTHON PIP-ARGUMENT...          in this checkout
#        venv.sh --shared NAME PYTHON PIP-ARGUMENT...   one for all checkouts of this user; prints its folder
set -euo pipefail
cd "$(dirname "$0")/../.."
if [ "$1" = --shared ]; then
  shared=1 name=$2
  shift 2
else
  shared=0 folder=$(realpath --no-symlinks "$1")
  shift
fi
python=$1
shift

# What pip is asked for. Paths are relative to the checkout, so that all checkouts ask for the same.
asked_for=$("$python" -c 'import sys; print(sys.version, sys.base_prefix)'
  printf '%s\n' "$@"; cat requirements*.txt tests/*/requirements.txt)
key=$(sha256sum <<<"$asked_for" | cut -c 1-16)
if [ "$shared" = 1 ]; then
  folder=${XDG_CACHE_HOME:-$HOME/.cache}/kubenode-netfilter/venvs/$name-$key
  mkdir -p "$folder"
  echo "$folder"
  exec 9>"$folder.lock"
  flock 9
fi
mkdir -p .build/logs
log=.build/logs/venv-$(basename "$folder").log
# A virtual environment is bound to its place and to its Python.
made_by=$("$python" --version 2>&1; echo "$folder")
stamp=$folder/.has-$key

works() {
  [ "$(cat "$folder/.made-by" 2>/dev/null)" = "$made_by" ] && "$folder/bin/python" -m pip --version >/dev/null 2>&1
}

# Only the last pip for Python 3.6 knows which releases that Python can still take.
pips=('pip<22; python_version < "3.7"' 'pip>=23; python_version >= "3.7"')

create() {
  "$python" -m venv --clear "$folder" &&
    "$folder/bin/python" -m pip install --upgrade "${pips[@]}" &&
    echo "$made_by" >"$folder/.made-by"
}

if [ -e "$stamp" ] && works; then
  exit 0
fi
# Creating one clears the folder, and behind a link that is somebody else's.
if [ -L "$folder" ] && ! works; then
  echo "$folder is a link; remove it, and make creates an environment of this checkout" >&2
  exit 1
fi
if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
  tests/tools/need_packages.sh python3-venv >&2
fi
if ! { { works || create; } && "$folder/bin/python" -m pip install "$@"; } >"$log" 2>&1 </dev/null; then
  tail -n 20 "$log" >&2
  echo "Could not create $folder; all of it is in $log" >&2
  exit 1
fi
touch "$stamp"
