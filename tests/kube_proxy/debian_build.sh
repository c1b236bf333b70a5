#!/usr/bin/env bash
# Builds kube-proxy 1.20.2 of Debian 12's source package `kubernetes` with Debian's Go, once, and prints where it is.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$PWD/.cache/kube-proxy/debian
binary=$folder/kube-proxy
if [ ! -x "$binary" ]; then
  tests/tools/need_packages.sh golang-go dpkg-dev >&2
  # Lists of its own: the machine's may have no sources, and stay as they are.
  mkdir -p "$folder"/{lists,cache/archives}/partial
  echo "deb-src http://deb.debian.org/debian bookworm main" > "$folder/sources.list"
  apt=(-o "Dir::Etc::SourceList=$folder/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::Lists=$folder/lists" -o "Dir::Cache=$folder/cache")
  cd "$folder"
  {
    apt-get "${apt[@]}" update
    apt-get "${apt[@]}" source --download-only kubernetes
    rm -rf source
    dpkg-source --no-check --extract kubernetes_*.dsc source
    cd source
    # Two programs at a time compile on a machine of any size; nothing but the package's own vendor folder is used.
    GOFLAGS=-mod=vendor GOPROXY=off GOCACHE=$folder/gocache CGO_ENABLED=0 nice -n 19 go build -p "${GO_AT_ONCE:-2}" -trimpath \
      -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=v1.20.2" -o "$binary" ./cmd/kube-proxy
  } > "$folder/log" 2>&1 || { tail -n 20 "$folder/log" >&2; exit 1; }
  rm -rf source gocache lists cache
fi
echo "$binary"
