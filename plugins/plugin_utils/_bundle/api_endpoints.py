# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The endpoints of Services that the API server has, as kubectl prints them. PRIVATE to the collection.

Samples:
    NAME         ENDPOINTS            AGE               kubectl get endpoints
    kubernetes   172.22.18.81:6443    212d
    NAME         ADDRESSTYPE   PORTS   ENDPOINTS      AGE       kubectl get endpointslices
    web-x7k2p    IPv4          8080    10.244.1.7,10.244.2.9    3d
    Name:              web                              kubectl describe service
    Namespace:         shop
    IP:                10.96.12.7
    Port:              http  80/TCP
    Endpoints:         10.244.1.7:8080,10.244.2.9:8080
    NAME         TYPE        CLUSTER-IP    EXTERNAL-IP   PORT(S)   AGE       kubectl get services
    service/web  ClusterIP   10.96.12.7    <none>        80/TCP    3d

A list that ends in `+ 2 more...` is not whole, and one that is `<none>` may leave out pods that end, which kube-proxy
still uses.
"""

import dataclasses
import re

_TABLE = re.compile(r"^(?:NAMESPACE[ ]+)?NAME[ ]+(?:ADDRESSTYPE[ ]+PORTS[ ]+)?ENDPOINTS[ ]+AGE[ ]*$")
_END = r"[0-9a-f.:\[\]]{2,50}:\d{1,5}"
_NAME = r"[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])?"
_ROW = re.compile(r"(?:(%s)[ ]+)?(%s)[ ]+(%s(?:,%s)*)[ ]+\d+[a-z]\S*[ ]*\Z" % (_NAME, _NAME, _END, _END))
_SLICE = re.compile(r"(?:(%s)[ ]+)?(%s)[ ]+IPv[46][ ]+(\d{1,5}(?:,\d{1,5})*)[ ]+"
                    r"([0-9a-f.:]{2,50}(?:,[0-9a-f.:]{2,50})*)[ ]+\d+[a-z]\S*[ ]*\Z" % (_NAME, _NAME))
_OF_SLICES = re.compile(r"(?:(%s)[ ]+)?(%s)[ ]+IPv[46] " % (_NAME, _NAME))
# One after the other: a single expression with all three takes minutes for a line that repeats the first two.
_COMMAND = (re.compile(r"\b(?:kubectl|k|oc)\b"), re.compile(r"\bget\b"),
            re.compile(r"\b(?:endpoint(?:slice)?s?(?:\.\S+)?|ep)\b"))
_SPACE = re.compile(r"(?:^|\s)(?:-n|--namespace)[= ]?(%s)(?=\s|\Z)" % _NAME)
# A name of a slice is that of its Service and five characters.
_SUFFIX = re.compile(r"-[a-z0-9]{5}\Z")
_DESCRIBED = re.compile(r"^Name:[ ]+(%s)\nNamespace:[ ]+(%s)\n((?:\S.*\n|[ ]{2,}.*\n?)+)" % (_NAME, _NAME),
                        re.MULTILINE)
_LIST = re.compile(r"^Endpoints:[ ]+(.+?)[ ]*$", re.MULTILINE)
# A Service with one port: of more, the lists of kubectl get do not show which endpoints belong to which port.
_SERVICE = re.compile(r"^(?:(?P<space>%s)[ ]+)?(?:service/|svc/)?(?P<name>%s)[ ]+(?:[A-Z]\w{6,20}[ ]+)?"
                      r"(?P<address>[0-9a-f.:]{4,45})[ ]+\S+[ ]+(?P<port>\d{1,5})(?::\d{1,5})?/(?P<protocol>TCP|UDP|SCTP)"
                      r"[ ]+\d+[a-z]\S*[ ]*$" % (_NAME, _NAME), re.MULTILINE)
_ADDRESS, _PORT = re.compile(r"^IP:[ ]+(\S+)[ ]*$", re.MULTILINE), re.compile(
    r"^Port:[ ]+(?:\S+[ ]+)?(\d{1,5})/(TCP|UDP|SCTP)[ ]*$", re.MULTILINE)
_WHOLE = re.compile(r"%s(?:,%s)*\Z" % (_END, _END))


def listed_endpoints(item):
    """[(item with a line `namespace name ADDRESS:PORT,...` for each Service whose list is whole, its kind, None)], or
    an empty list. The namespace is a hyphen where the text does not show it."""
    if item.data is None or (b"ENDPOINTS" not in item.data and b"\nEndpoints: " not in item.data):
        return []
    text = item.data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\t", "    ")
    rows = _tables(text.split("\n")) + _described(text)
    lines = "".join("%s %s %s\n" % (space or "-", name, ",".join(sorted(ends))) for space, name, ends in rows)
    return [(dataclasses.replace(item, data=each.encode()), kind, None) for each, kind in (
        (lines, "api_endpoints"), (_of_addresses(text, rows), "api_services")) if each]


def _of_addresses(text, rows):
    """A line `ADDRESS PORT PROTOCOL END,END` for each Service of `rows` with one port, whose address the text shows. A
    Service with two addresses or two lists of endpoints in the text is left out."""
    places = {}
    for found in _SERVICE.finditer(text):
        key = found["space"], found["name"]
        places.setdefault(key, set()).add((found["address"], found["port"], found["protocol"].lower()))
    for name, space, body in _DESCRIBED.findall(text):
        address, ports = _ADDRESS.findall(body), _PORT.findall(body)
        if len(address) == 1 and len(ports) == 1:
            places.setdefault((space, name), set()).add((address[0], ports[0][0], ports[0][1].lower()))
    lists = {}
    for space, name, ends in rows:
        lists.setdefault(name, []).append((space, ends))
    found = []
    for (space, name), where in sorted(places.items(), key=str):
        ends = {",".join(sorted(each)) for own, each in lists.get(name, ()) if space is None or own in (None, space)}
        alone = len(where) == len(ends) == 1 and sum(key[1] == name for key in places) == 1
        addresses = [end.rpartition(":")[0] for end in next(iter(ends)).split(",")] if alone else []
        # Endpoints written by hand may have ports that are no port of the Service.
        if alone and len(addresses) == len(set(addresses)):
            found.append("%s %s %s " % next(iter(where)) + ends.pop())
    return "".join(line + "\n" for line in found)


def _arguments(line):
    """What follows `get endpoints` in a command of kubectl, None for any other line."""
    end = 0
    for word in _COMMAND:
        found = word.search(line, end)
        if found is None:
            return None
        end = found.end()
    return line[end:]


def _tables(lines):
    """[(namespace or None, name, {endpoint})] of the tables of kubectl get."""
    found, space, named, within, slices, broken = [], None, False, False, {}, set()
    for line in lines:
        arguments = _arguments(line)
        if arguments is not None:
            given = _SPACE.search(line)
            space, within = given and given.group(1), False
            named = bool(re.match(r"[ ]+[a-z0-9]", arguments))
        elif _TABLE.match(line):
            within = True
        elif within:
            row, part, begun = _ROW.match(line), _SLICE.match(line), _OF_SLICES.match(line)
            if part and (not named or part.group(2) == "kubernetes"):
                key = part.group(1) or space, _SUFFIX.sub("", part.group(2))
                slices.setdefault(key, set()).update(
                    "%s:%s" % ("[%s]" % address if ":" in address else address, port)
                    for address in part.group(4).split(",") for port in part.group(3).split(","))
            elif begun:
                broken.add((begun.group(1) or space, _SUFFIX.sub("", begun.group(2))))
            elif row:
                found.append((row.group(1) or space, row.group(2), set(row.group(3).split(","))))
            else:
                within = bool(re.match(r"[a-z0-9]\S*[ ]+\S", line))
    return found + [key + (ends,) for key, ends in slices.items() if key not in broken]


def _described(text):
    found = []
    for name, space, body in _DESCRIBED.findall(text):
        lists = _LIST.findall(body)
        if lists and all(map(_WHOLE.match, lists)):
            found.append((space, name, {end for each in lists for end in each.split(",")}))
    return found
