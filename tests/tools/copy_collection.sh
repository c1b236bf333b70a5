#!/usr/bin/env bash
# A real copy of the files git knows or would add, in a collection path: ansible-test refuses a linked collection, and
# the tarball must not depend on what else lies in a checkout.
# Usage: copy_collection.sh FOLDER, below which the collection path begins. Prints the folder of the copy.
set -euo pipefail
cd "$(dirname "$0")/../.."
copy=$1/ansible_collections/kubenode/netfilter
rm -rf "$1"
mkdir -p "$copy"
# The checkout may belong to another user (containers, CI); files deleted but not yet committed are no part of the copy.
git -c safe.directory='*' ls-files -z --cached --others --exclude-standard | sort -zu |
  while IFS= read -r -d '' name; do
    if [ -e "$name" ] || [ -L "$name" ]; then printf '%s\0' "$name"; fi
  done |
  tar --create --null --files-from=- --owner=0 --group=0 | tar --extract --directory="$copy"
# ansible-test asks git for the files, and the repository around the copy would say that it ignores all of them.
git -c init.defaultBranch=copy init --quiet --template= "$copy"
echo "$copy"
