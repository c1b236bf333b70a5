# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports without names of hosts and without IP addresses, to send to somebody else. PRIVATE to the collection.

A name has one pseudonym in every file, and in later runs as long as the mapping is kept.
"""

import ipaddress
import re

HOSTS, ADDRESSES = "hosts", "addresses"
_FORMS = {HOSTS: "node-%03d", ADDRESSES: "ip-%03d"}
# Values under these keys are words of ours, whatever a host is called.
_OURS = {"check", "status", "severity", "title", "outcome", "run", "started", "read_at", "schema", "tool", "kind",
         "change", "worst", "was", "is"}
# Under these keys the keys of a dictionary are hosts.
_BY_HOST = {"others", "counts"}
_KEY = re.compile(r"[a-z0-9_]+")
# What looks like an address and is none is left as it is.
_TOKEN = re.compile(r"(?P<ipv6>(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?:(?:\.\d{1,3}){3})?(?!\w))"
                    r"|(?P<url>(?:(?<=http://)|(?<=https://))(?:[^\s/?#@]*@)?(?:\[[^\]\s]*\]|[^\W_](?:[\w.-]*\w)?))"
                    r"|(?P<word>[^\W_][\w.-]*)")
_IPV4 = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_PARTS = re.compile(r"([.-])")
# A shorter name of a host is a word of many sentences; as a value by itself it is replaced all the same.
_SHORTEST = 3
# More than a name of DNS has in practice.
_LABELS = 20


def checked(known):
    """The mapping as it was written. Raises ValueError where it is not one."""
    if not isinstance(known, dict) or not all(
            isinstance(known.get(kind), dict) and all(isinstance(value, str) for value in known[kind].values())
            and len(set(known[kind].values())) == len(known[kind]) for kind in _FORMS):
        raise ValueError("no mapping")
    return known


class Pseudonyms:
    """Pseudonyms of `hosts` in the order of their names, after those that are `known`, {kind: {name: pseudonym}}; of
    addresses and of hosts that only texts name as they are met."""

    def __init__(self, hosts, known=None):
        self.known = {kind: dict((known or {}).get(kind) or {}) for kind in _FORMS}
        for name in sorted(hosts):
            self._of(HOSTS, name)
        domain_names = [name for name in self.known[HOSTS] if not _is_address(name)]
        # By its short name as well; of two hosts with the same one the first.
        self._names = {name.partition(".")[0]: name for name in sorted(domain_names, reverse=True)}
        self._names.update((name, name) for name in self.known[HOSTS])
        self._domains = {name.partition(".")[2] for name in domain_names if name.count(".") > 1}
        self._most_parts = max((len(_PARTS.split(name)) for name in self._names), default=1)
        # Names that are no word of a text.
        self._odd = sorted((name for name in hosts if len(name) >= _SHORTEST and not _TOKEN.fullmatch(name)), key=len,
                           reverse=True)
        self._made = {}

    def host(self, name):
        """The pseudonym of a host."""
        return self._of(HOSTS, name)

    def of(self, value, by_host=False):
        """A report, or any part of one, with pseudonyms."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self._key(key, by_host): each if key in _OURS and not by_host else self.of(each, key in _BY_HOST)
                    for key, each in value.items()}
        return [self.of(each) for each in value] if isinstance(value, (list, tuple)) else value

    def text(self, text):
        """A text with pseudonyms."""
        if text not in self._made:
            self._made[text] = self._of(HOSTS, self._names[text]) if text in self._names else self._replaced(text)
        return self._made[text]

    def _key(self, key, by_host):
        return self.text(key) if by_host or not _KEY.fullmatch(key) else key

    def _replaced(self, text):
        for name in self._odd:
            if name in text:
                return self._of(HOSTS, name).join(map(self._replaced, text.split(name)))
        return _TOKEN.sub(lambda match: getattr(self, "_" + match.lastgroup)(match[0]), text)

    def _url(self, text):
        """The host of a URL, behind its user."""
        user, sign, host = text.rpartition("@")
        if host.startswith("["):
            known = "[%s]" % self._ipv6(host[1:-1])
        elif host == "localhost" or _is_address(host):
            known = self._word(host)
        else:
            known = self._of(HOSTS, self._names.get(host, host))
        return user + sign + known

    def _ipv6(self, text):
        """An address; a colon behind it may be the sentence's."""
        for cut in (len(text), len(text) - 1):
            if _is_address(text[:cut]):
                return self._address(text[:cut]) + text[cut:]
        return text

    def _word(self, text):
        """A word with the names in it, such as that of a static pod or of a file: between dots and dashes."""
        found = _IPV4.match(text)
        if found and _is_address(found[0]) and not re.match(r"\.?\w", text[found.end():]):
            return self._address(found[0]) + text[found.end():]
        parts, made, start = _PARTS.split(text), [], 0
        while start < len(parts):
            # No part of a text is looked at more often than a name has parts: a node decides how long a text is.
            for end in range(min(len(parts), start + self._most_parts), start, -1):
                known = self._names.get("".join(parts[start:end]))
                if known and sum(map(len, parts[start:end])) >= _SHORTEST:
                    made.append(self._of(HOSTS, known))
                    break
            else:
                end = start + 1
                made.append(parts[start])
            start = end
        found = "".join(made)
        return found if found != text else self._of_domain(text)

    def _of_domain(self, text):
        """A host of the domain of another host."""
        name, labels = text.rstrip(".-"), text.rstrip(".-").split(".")[:_LABELS]
        known = any(".".join(labels[number:]) in self._domains for number in range(1, len(labels)))
        return self._of(HOSTS, name) + text[len(name):] if known else text

    def _address(self, text):
        """Addresses that every node has, such as 127.0.0.1, stay."""
        address = ipaddress.ip_address(text)
        if address.is_loopback or address.is_unspecified:
            return text
        return self._of(HOSTS, text) if text in self.known[HOSTS] else self._of(ADDRESSES, str(address))

    def _of(self, kind, name):
        names = self.known[kind]
        if name not in names:
            names[name] = _FORMS[kind] % (len(names) + 1)
        return names[name]


def _is_address(text):
    try:
        return bool(ipaddress.ip_address(text))
    except ValueError:
        return False
