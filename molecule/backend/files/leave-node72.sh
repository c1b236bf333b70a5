#!/bin/sh
# Nothing is left on a node that was never parted.
set -eu
true
