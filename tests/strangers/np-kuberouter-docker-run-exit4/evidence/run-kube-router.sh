/usr/bin/docker run --rm --privileged --net=host --name kube-router \
    -v /var/lib/kubelet:/var/lib/kubelet \
    -v /etc/kubernetes/ssl:/etc/kubernetes/ssl \
    -v /lib/modules:/lib/modules \
    docker.io/cloudnativelabs/kube-router:v0.2.5 \
    --run-router=false --run-firewall=true --run-service-proxy=false \
    --kubeconfig=/var/lib/kubelet/kubeconfig --metrics-port=8080 --metrics-path="/metrics" --v=2
