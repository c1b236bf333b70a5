#!/bin/sh
# pretend NAME ARGUMENT...: a process of that name, which is all a look at a node sees of kubelet and kube-proxy.
pretend() {
    program=/usr/local/bin/$1
    cat > "$program" <<'PROGRAM'
#!/bin/sh
case ${1:-} in --version) echo "Kubernetes v1.34.0"; exit ;; esac
sleep infinity
PROGRAM
    chmod 0755 "$program"
    systemd-run --quiet --unit="$1" "$@"
}

# pretend_kube_proxy ARGUMENT...: one that says that it has written its rules.
pretend_kube_proxy() {
    metrics > /usr/local/lib/metrics
    systemd-run --quiet --unit=metrics python3 /usr/local/lib/metrics
    pretend kube-proxy "$@"
}
