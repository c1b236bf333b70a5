# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services, EndpointSlices and the node of a simulated cluster, as the API server returns them to a kube-proxy.

The first eleven Services are one of each kind. Further ones, up to the given number, are plain ClusterIP Services.
"""

import ipaddress

NODE = "worker-a"
FAMILIES = ("IPv4", "IPv6")
NODE_ADDRESSES = {"IPv4": "192.0.2.10", "IPv6": "2001:db8:10::10"}
SERVICE_RANGES = {"IPv4": ipaddress.ip_network("10.96.0.0/12"), "IPv6": ipaddress.ip_network("fd00:96::/112")}
POD_RANGES = {"IPv4": ipaddress.ip_network("10.244.0.0/16"), "IPv6": ipaddress.ip_network("fd00:244::/64")}
HTTP = [("http", "TCP", 80, 8080)]
NODE_PORT, BALANCER = {"type": "NodePort"}, {"type": "LoadBalancer"}
LOCAL = {"externalTrafficPolicy": "Local"}
STICKY = {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}}}
# (namespace/name, ports, number of endpoints, differences from a plain Service). The first endpoint is on this node.
EVERY_KIND = [
    ("default/kubernetes", [("https", "TCP", 443, 6443)], 3, {}),
    ("kube-system/kube-dns", [("dns", "UDP", 53, 53), ("dns-tcp", "TCP", 53, 53), ("metrics", "TCP", 9153, 9153)],
     2, {}),
    ("shop/cart", HTTP, 3, {}),
    ("shop/login", HTTP, 2, STICKY),
    ("shop/search", [("api", "TCP", 9200, 9200), ("transport", "TCP", 9300, 9300)], 4, {}),
    ("shop/empty", HTTP, 0, {}),
    ("edge/web", HTTP, 3, NODE_PORT),
    ("edge/web-local", HTTP, 2, dict(NODE_PORT, **LOCAL)),
    ("edge/lb", [("https", "TCP", 443, 8443)], 3, BALANCER),
    ("edge/lb-ranges", [("https", "TCP", 443, 8443)], 2, dict(BALANCER, loadBalancerSourceRanges=["203.0.113.0/24"])),
    ("data/local", [("pg", "TCP", 5432, 5432)], 2, {"internalTrafficPolicy": "Local"}),
]


def rows(number):
    """The first `number` Services: those of EVERY_KIND, then plain ones."""
    plain = [("load-%02d/svc-%04d" % (index % 20, index), HTTP, 2, {}) for index in range(number - len(EVERY_KIND))]
    return (EVERY_KIND + plain)[:number]


def cluster_ip(index, family):
    return str(SERVICE_RANGES[family][index + 1])


def of_cluster(number):
    """(resource, object) for each object of a cluster with that many Services."""
    yield "nodes", _node()
    pod = 2
    for index, (owner, ports, endpoints, special) in enumerate(rows(number)):
        namespace, name = owner.split("/")
        yield "services", _service(index, namespace, name, ports, special)
        for family in FAMILIES:
            yield "endpointslices", _slice(family, namespace, name, ports, range(pod, pod + endpoints))
        pod += endpoints


def _node():
    addresses = [{"type": "InternalIP", "address": address} for address in NODE_ADDRESSES.values()]
    return {"metadata": {"name": NODE, "labels": {"kubernetes.io/hostname": NODE}},
            "spec": {"podCIDR": "10.244.0.0/24", "podCIDRs": ["10.244.0.0/24", "fd00:244::/80"]},
            "status": {"addresses": addresses + [{"type": "Hostname", "address": NODE}]}}


def _service(index, namespace, name, ports, special):
    outside = special.get("type", "ClusterIP") != "ClusterIP"
    addresses = [cluster_ip(index, family) for family in FAMILIES]
    rows_of_ports = [dict({"name": port, "protocol": protocol, "port": number, "targetPort": target},
                          **({"nodePort": 30000 + 10 * index + place} if outside else {}))
                     for place, (port, protocol, number, target) in enumerate(ports)]
    spec = {"type": "ClusterIP", "clusterIP": addresses[0], "clusterIPs": addresses, "ipFamilies": list(FAMILIES),
            "ipFamilyPolicy": "RequireDualStack", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster",
            "ports": rows_of_ports}
    balancer = {"ingress": [{"ip": "203.0.113.%d" % (index + 1)}]} if special.get("type") == "LoadBalancer" else {}
    return {"metadata": {"namespace": namespace, "name": name, "labels": {}}, "spec": dict(spec, **special),
            "status": {"loadBalancer": balancer}}


def _slice(family, namespace, name, ports, pods):
    ready = {"ready": True, "serving": True, "terminating": False}
    endpoints = [{"addresses": [str(POD_RANGES[family][pod])], "conditions": ready,
                  "nodeName": NODE if pod == pods[0] else "worker-b"} for pod in pods]
    return {"metadata": {"namespace": namespace, "name": "%s-%s" % (name, family.lower()),
                         "labels": {"kubernetes.io/service-name": name}},
            "addressType": family, "endpoints": endpoints,
            "ports": [{"name": port, "protocol": protocol, "port": target} for port, protocol, _port, target in ports]}
