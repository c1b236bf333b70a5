#!/usr/bin/env bash
# Runs the preflight playbook in check mode from this checkout, against this machine or against $INVENTORY.
# Usage: [VENV=folder] [INVENTORY=...] [LIMIT=...] preflight.sh [ARGUMENT of ansible-playbook]...
set -euo pipefail
cd "$(dirname "$0")/../.."
tests/tools/link_collection.sh

users_own=${ANSIBLE_COLLECTIONS_PATH:-$HOME/.ansible/collections:/usr/share/ansible/collections}
export ANSIBLE_COLLECTIONS_PATH="$PWD/.build:$users_own"
# Otherwise a misspelt inventory would be a play without hosts, which ends well.
export ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED=true
command=("${VENV:-.venv}/bin/ansible-playbook" playbooks/preflight.yml --check
  --inventory "${INVENTORY:-tests/tools/localhost.yml}")
[ -z "${LIMIT:-}" ] || command+=(--limit "$LIMIT")
exec "${command[@]}" "$@"
