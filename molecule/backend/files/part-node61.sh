#!/bin/sh
# Everything was written to legacy; then somebody switched the programs to nft under it.
set -eu
programs legacy
start_cluster
programs nft
