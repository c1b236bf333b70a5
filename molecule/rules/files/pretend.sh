#!/bin/sh
# pretend NAME ARGUMENT...: a process of that name, which is all a look at a node sees of kubelet and kube-proxy.
pretend() {
    program=/usr/local/bin/$1
    cat > "$program" <<'PROGRAM'
#!/bin/bash
case ${1:-} in --version) echo "Kubernetes v1.34.0"; exit ;; esac
case $0 in *kube-proxy) until { exec 3<> /dev/tcp/127.0.0.1/6443; } 2> /dev/null; do sleep 0.2; done ;; esac
sleep infinity
PROGRAM
    chmod 0755 "$program"
    systemd-run --quiet --unit="$1" "$@"
}

# pretend_kube_proxy ARGUMENT...: one that says that it has written its rules, and is connected to an API server.
pretend_kube_proxy() {
    metrics > /usr/local/lib/metrics
    systemd-run --quiet --unit=metrics python3 /usr/local/lib/metrics
    pretend kube-proxy "$@"
}
