# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small API server for a kube-proxy: list and watch of its resources, in JSON over plain HTTP on the loopback
interface.

One log holds all changes, and the resource version of an object is its position in the log. A watch reads the log
from the version that the client asks for (kubernetes.io, API concepts: efficient detection of changes). Answers are
HTTP/1.0: the answer ends when the connection ends, so a watch needs no chunks.
"""

import copy
import http.server
import json
import socket
import threading
import urllib.parse

PORT = 16443
KINDS = {"services": "Service", "endpointslices": "EndpointSlice", "nodes": "Node", "servicecidrs": "ServiceCIDR"}
# A watch without changes sends a bookmark after that time. The write fails if the client has disconnected.
QUIET_SECONDS = 15


class Log:
    """The objects of a cluster and all their changes."""

    def __init__(self):
        self.grown = threading.Condition()
        self.events = []
        self.objects = {resource: {} for resource in KINDS}

    def put(self, resource, thing):
        self._add("MODIFIED" if _key(thing) in self.objects[resource] else "ADDED", resource, copy.deepcopy(thing))

    def remove(self, resource, thing):
        self._add("DELETED", resource, copy.deepcopy(self.objects[resource][_key(thing)]))

    def _add(self, event, resource, thing):
        with self.grown:
            version = len(self.events) + 1
            thing["metadata"]["resourceVersion"] = str(version)
            thing["metadata"].setdefault("uid", "0b5c1a2e-0000-4000-8000-%012d" % version)
            self.events.append((event, resource, thing))
            self.objects[resource][_key(thing)] = thing
            if event == "DELETED":
                del self.objects[resource][_key(thing)]
            self.grown.notify_all()

    def listed(self, resource):
        """(objects, the version of the log with these objects)."""
        with self.grown:
            return list(self.objects[resource].values()), len(self.events)

    def since(self, version):
        """(events after a version, current version); waits for an event, at most QUIET_SECONDS."""
        with self.grown:
            self.grown.wait_for(lambda: len(self.events) > version, QUIET_SECONDS)
            return self.events[version:], len(self.events)


def _key(thing):
    return thing["metadata"].get("namespace"), thing["metadata"]["name"]


def selected(thing, query):
    """Whether an object matches the two selectors of a kube-proxy: labels that must be absent, and one name."""
    unwanted = [part[1:] for part in query.get("labelSelector", "").split(",") if part.startswith("!")]
    name = query.get("fieldSelector", "").partition("metadata.name=")[2]
    return not set(unwanted) & set(thing["metadata"].get("labels", {})) and name in ("", thing["metadata"]["name"])


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_arguments):
        pass

    def do_GET(self):
        url = urllib.parse.urlparse(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        parts = url.path.strip("/").split("/")
        resource = next((part for part in parts if part in KINDS), None)
        if self.server.refuses or resource is None:
            return self.answer(self.server.refuses or 404, {"kind": "Status", "apiVersion": "v1", "status": "Failure",
                                                            "code": self.server.refuses or 404})
        # Clients may request the API group in several versions; objects get the requested version.
        version = parts[1] if parts[0] == "api" else "/".join(parts[1:3])
        if query.get("watch") in ("1", "true"):
            return self.watch(resource, version, query)
        things, place = self.server.log.listed(resource)
        if parts[-1] != resource:
            query = {"fieldSelector": "metadata.name=" + parts[-1]}
        things = [self.typed(thing, resource, version) for thing in things if selected(thing, query)]
        if parts[-1] != resource:
            return self.answer(200 if things else 404, things[0] if things else {"kind": "Status", "code": 404})
        return self.answer(200, {"kind": KINDS[resource] + "List", "apiVersion": version, "items": things,
                                 "metadata": {"resourceVersion": str(place)}})

    def do_POST(self):
        """Accepts the events that kube-proxy writes about the node."""
        self.answer(201, json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}"))

    @staticmethod
    def typed(thing, resource, version):
        return dict(thing, kind=KINDS[resource], apiVersion=version)

    def answer(self, code, body):
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def watch(self, resource, version, query):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        place = int(query.get("resourceVersion") or 0)
        if query.get("sendInitialEvents") == "true" or not place:
            things, place = self.server.log.listed(resource)
            for thing in things:
                self.tell("ADDED", thing, resource, version, query)
            if query.get("sendInitialEvents") == "true":
                self.mark(place, resource, version, {"k8s.io/initial-events-end": "true"})
        while not self.server.refuses:
            events, place = self.server.log.since(place)
            for event, about, thing in events:
                if about == resource:
                    self.tell(event, thing, resource, version, query)
            if not events:
                self.mark(place, resource, version, {})

    def mark(self, place, resource, version, annotations):
        self.send({"type": "BOOKMARK", "object": self.typed(
            {"metadata": {"resourceVersion": str(place), "annotations": annotations}}, resource, version)})

    def tell(self, event, thing, resource, version, query):
        if selected(thing, query):
            self.send({"type": event, "object": self.typed(thing, resource, version)})

    def send(self, event):
        self.wfile.write(json.dumps(event).encode() + b"\n")
        self.wfile.flush()


class ApiServer(http.server.ThreadingHTTPServer):
    """Serves a log from a thread of this process until gone()."""

    daemon_threads = True
    block_on_close = False
    refuses = None  # If set, each answer is an error with this status.

    def __init__(self, log):
        super().__init__(("127.0.0.1", PORT), Handler)
        self.log = log
        self._open = set()
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def process_request(self, request, client_address):
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request):
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request, client_address):
        """Print no error: the client has disconnected."""

    def drop_connections(self):
        for request in list(self._open):
            try:
                request.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # The client closed it at the same moment.

    def gone(self):
        self.shutdown()
        self.server_close()
        self.drop_connections()
