#!/usr/bin/env bash
# Builds kube-proxy 1.20.2 of Debian 12's source package `kubernetes` with Debian's Go, once, and prints where it is.
set -Eeuo pipefail
cd "$(dirname "$0")/../.."
folder=$PWD/.cache/kube-proxy/debian
binary=$folder/kube-proxy

get_source() {
  # Lists of its own: the machine's may have no sources, and stay as they are.
  mkdir -p lists/partial cache/archives/partial go/src/k8s.io
  echo "deb-src http://deb.debian.org/debian bookworm main" > sources.list
  apt=(-o "Dir::Etc::SourceList=$folder/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::Lists=$folder/lists" -o "Dir::Cache=$folder/cache")
  apt-get "${apt[@]}" update
  apt-get "${apt[@]}" source --download-only kubernetes
  dpkg-source --no-check --extract kubernetes_*.dsc go/src/k8s.io/kubernetes
}

build() {
  # As its own makefiles build it: in a GOPATH, of nothing but its own vendor folder.
  export GO111MODULE=off GOPATH=$folder/go GOCACHE=$folder/go/cache GOPROXY=off CGO_ENABLED=0
  cd go/src/k8s.io/kubernetes
  local version=k8s.io/kubernetes/vendor/k8s.io/component-base/version
  nice -n 19 go build -p "${GO_AT_ONCE:-2}" -trimpath -o "$binary.new" \
    -ldflags "-s -w -X $version.gitVersion=v1.20.2" k8s.io/kubernetes/cmd/kube-proxy
  mv "$binary.new" "$binary"
}

if [ ! -x "$binary" ]; then
  tests/tools/need_packages.sh golang-go dpkg-dev >&2
  rm -rf "$folder" && mkdir -p "$folder" && cd "$folder"
  trap 'tail -n 20 "$folder/log" >&2' ERR
  get_source > log 2>&1
  build >> log 2>&1
  rm -rf "$folder"/{go,lists,cache} "$folder"/kubernetes_*
fi
echo "$binary"
