#!/usr/bin/env bash
# Molecule scenarios on test nodes that boot once: all, or the scenario `everything` and one more on one node. One entry
# point for make and for people.
#   KERNEL=6.12     the node with this kernel alone, with the scenario `everything` and those of SCENARIO="hooks rules";
#                   where KVM runs a stock kernel, all nodes and scenarios all the same
#   MOLECULE_VENV   virtual environment with what requirements.txt beside this asks for (default: made here)
#   TESTBED_KEEP=1  leave the nodes running afterwards
set -euo pipefail
cd "$(dirname "$0")/../.."

if [ -z "${MOLECULE_VENV:-}" ]; then
    MOLECULE_VENV=$(tests/tools/venv.sh --shared molecule "${PYTHON:-python3}" -r tests/testbed/requirements.txt)
fi
venv=$(cd "$MOLECULE_VENV" && pwd)
export PATH="$venv/bin:$PATH"
export ANSIBLE_COLLECTIONS_PATH="$PWD/.build${ANSIBLE_COLLECTIONS_PATH:+:$ANSIBLE_COLLECTIONS_PATH}"
vm="$venv/bin/python tests/testbed/vm.py"

mkdir -p .build/ansible_collections/kubenode
ln -sfn ../../.. .build/ansible_collections/kubenode/netfilter

took_part="none"
started=$SECONDS
summary() {
    status=$?
    [ "${keep:-0}" = 1 ] || $vm stop
    echo "molecule: nodes that took part: $took_part; $((SECONDS - started)) s"
    # What was left out must be seen last, and by those who read only errors.
    if [ -s .cache/testbed/left_out.txt ]; then
        sed 's/^/molecule: *** /' .cache/testbed/left_out.txt >&2
    fi
    exit "$status"
}
keep=${TESTBED_KEEP:-0}
trap summary EXIT

# Those that take the nodes one after the other, or no node, come first: in make test-all they leave a core to the unit
# tests.
scenarios=(everything backend hooks image conntrack default rules)
rm -f .cache/testbed/left_out.txt
if [ -n "${KERNEL:-}" ]; then
    TESTBED_NODES=$($vm choose "node${KERNEL//./}")
    export TESTBED_NODES
    case $TESTBED_NODES in
        *\ *) echo "molecule: KVM runs a stock kernel here, so all nodes and scenarios run" ;;
        *)
            read -ra others <<<"${SCENARIO:-}"
            scenarios=(everything "${others[@]}")
            ;;
    esac
fi

# The scenarios' own destroy must leave the nodes to the next one.
export TESTBED_KEEP=1
$vm start
took_part=$($vm status | awk '$NF != "down" {printf "%s%s (kernel %s)", sep, $1, $4; sep = ", "}')
failed=""
number=0
for scenario in "${scenarios[@]}"; do
    before=$SECONDS
    number=$((number + 1))
    echo "molecule: scenario $scenario, $number of ${#scenarios[@]}"
    if molecule test -s "$scenario"; then
        echo "molecule: $scenario passed in $((SECONDS - before)) s"
    else
        failed="$failed $scenario"
        echo "molecule: $scenario FAILED after $((SECONDS - before)) s" >&2
    fi
done
if [ -n "$failed" ]; then
    echo "molecule: failed:$failed" >&2
    exit 1
fi
