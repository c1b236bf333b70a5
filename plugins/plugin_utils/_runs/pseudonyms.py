# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports without names of hosts and without IP addresses, to send to other people. PRIVATE to the collection.

A name has one pseudonym in every file, and in later runs as long as the mapping is kept.
"""

import ipaddress
import itertools
import re

from .._checks import catalogue

HOSTS, ADDRESSES, DOMAINS = "hosts", "addresses", "domains"
_FORMS = {HOSTS: "node-%03d", ADDRESSES: "ip-%03d", DOMAINS: "domain-%03d"}
# Values under these keys are words of this collection, even if a host has the same name.
_OURS = {"check", "status", "severity", "outcome", "run", "started", "read_at", "schema", "tool", "kind",
         "change", "worst", "was", "is", "felt", "certainty"}
# Under these keys the keys of a dictionary are hosts.
_BY_HOST = {"others", "counts"}
_KEY = re.compile(r"[a-z0-9_]+")
# A match that ipaddress refuses stays as it is. A label may stand before an address: addr:fd00::1, etcd-fd00::1.
_TOKEN = re.compile(r"(?P<ipv6>(?<![^\W_])(?<!\.)(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?:(?:\.\d{1,3}){3})?"
                    r"(?![^\W_]))"
                    r"|(?P<url>(?<=://)(?:(?<=(?i:http)://)|(?<=(?i:https)://))(?:[^\s/?#@]*@)?"
                    r"(?:\[[^\]\s]*\]|[^\W_](?:[\w.-]*\w)?))"
                    r"|(?P<word>[^\W_](?:(?!(?<=[-_])[0-9A-Fa-f]{1,4}:[0-9A-Fa-f]{0,4}:)[\w.-])*)")
# Also within a word, such as etcd-10.0.0.1, 10.0.0.1-10.0.0.9 or addr10.0.0.1, as Amazon names nodes (ip-10-0-0-1), and
# as Kubernetes names pods (10-0-0-1.default.pod, fd00-20--1.default.pod): the last only where it begins as addresses of
# networks do, since other words have dashes, too.
_IN_WORD = re.compile(r"(?<!\d)(?<!\d\.)(?P<dotted>\d{1,3}(?:\.\d{1,3}){3})(?!\d|\.\d)"
                      r"|(?:(?<![^\W_])(?i:ip)[-_])?(?<!\d)"
                      r"(?P<apart>\d{1,3}(?P<sign>[-_])\d{1,3}(?:(?P=sign)\d{1,3}){2})(?!\d)"
                      r"|(?<![^\W_])(?P<ipv6>(?:[23][0-9A-Fa-f]{3}|[Ff][C-Fc-f][0-9A-Fa-f]{2})"
                      r"(?:--?[0-9A-Fa-f]{1,4}){0,7}(?:--)?)(?![^\W_])")
# The directory of a pod's logs is called NAMESPACE_POD_UID, and a static pod has the name of its node.
_PARTS = re.compile(r"([._-])")
# A shorter host name may be a word in many sentences, so it is replaced only if it is the whole value.
_SHORTEST = 3
# A name of at least this length with a digit is also replaced between letters, as in xworker-7y.
_GLUED = 5
# More than a name of DNS has in practice.
_LABELS = 20


def checked(known):
    """The mapping as it was written. Raises ValueError where it is not one."""
    if not isinstance(known, dict) or not {HOSTS, ADDRESSES} <= set(known) or not all(
            isinstance(names, dict) and all(isinstance(value, str) for value in names.values())
            and len(set(names.values())) == len(names) for names in known.values()):
        raise ValueError("no mapping")
    return known


class Pseudonyms:
    """Pseudonyms of `hosts` in the order of their names, after the `known` pseudonyms, {kind: {name: pseudonym}}.
    Addresses, domains, and hosts that only texts name get theirs when they first appear. `others` are more names of
    hosts, {name: host}.
    """

    def __init__(self, hosts, known=None, others=None):
        self.known = {kind: dict((known or {}).get(kind) or {}) for kind in _FORMS}
        self._used = {kind: set(names.values()) for kind, names in self.known.items()}
        for name in sorted(hosts):
            self._of(HOSTS, name)
        given = dict(others or {}, **{name: name for name in hosts})
        self._by_address = {ipaddress.ip_address(name): name for name in given if _is_address(name)}
        domain_names = sorted((name for name in given if not _is_address(name)), reverse=True)
        # A host is also known by its short name (of two hosts with the same short name, the first), and Kubernetes
        # writes node names in small letters.
        self._names = {name.partition(".")[0].lower(): given[name] for name in domain_names}
        self._names.update((name.lower(), given[name]) for name in domain_names)
        self._names.update(given)
        self._domains = {domain for name in domain_names for domain in _domains_of(name.lower())}
        self._most_parts = max((len(_PARTS.split(name)) for name in (*self._names, *self._domains)), default=1)
        self._glued = {name.lower() for name in self._names if len(name) >= _GLUED and any(map(str.isdigit, name))}
        self._lengths = sorted({len(name) for name in self._glued}, reverse=True)
        # Hosts that only texts name; they are matched only as whole words.
        self._met = {name.lower(): name for name in self.known[HOSTS] if "." in name}
        # Host names that do not have the form of a word in a text.
        self._odd = sorted((name for name in given if len(name) >= _SHORTEST and not _TOKEN.fullmatch(name)), key=len,
                           reverse=True)
        self._made = {}

    def host(self, name):
        """The pseudonym of a host."""
        return self._of(HOSTS, name)

    def learn(self, value):
        """Remembers the hosts of all URLs in a report: an error may name a URL and then, separately, the host that
        could not be resolved."""
        if isinstance(value, str):
            for match in _TOKEN.finditer(value) if "://" in value else ():
                name = (match["url"] or "").rpartition("@")[2].lower()
                if "." in name and not name.startswith("[") and not _is_address(name):
                    self._met.setdefault(name, name)
        elif isinstance(value, (dict, list, tuple)):
            for each in value.values() if isinstance(value, dict) else value:
                self.learn(each)

    def of(self, value, by_host=False):
        """A report, or any part of one, with pseudonyms."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self._key(key, by_host): self._value(key, each, value, by_host) for key, each in value.items()}
        return [self.of(each) for each in value] if isinstance(value, (list, tuple)) else value

    def text(self, text):
        """A text with pseudonyms."""
        if text not in self._made:
            self._made[text] = self._of_name(text) or self._replaced(text)
        return self._made[text]

    def _value(self, key, value, row, by_host):
        if by_host:
            return self.of(value)
        if key == "host" and isinstance(value, str) and value != "*":
            # In a waiver it may be a host that no longer exists, or a pattern.
            return self._of_name(value) or self._of(HOSTS, value)
        if key in _OURS or key == "title" and row.get("check") in catalogue.catalogue():
            return value
        return self.of(value, key in _BY_HOST)

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
            known = self._of_name(host) or self._of_domain(host) or self._of(
                HOSTS, self._met.get(host.lower(), host.lower()))
        return user + sign + known

    def _ipv6(self, text):
        """Replaces an address; a colon after it may belong to the sentence, a zone belongs to the node. If there is no
        address, replaces the words between the colons."""
        address, sign, zone = text.partition("%")
        for cut in (len(address), len(address) - 1):
            if _is_address(address[:cut]):
                return self._address(address[:cut], address[:cut]) + address[cut:] + sign + zone
        return ":".join(map(self._word, text.split(":")))

    def _word(self, text):
        """A word with the names and addresses in it, such as that of a static pod or of a file."""
        pieces = self._split(text, self._of_name)
        if pieces == [(text, None)]:
            name = text.rstrip(".-")
            found = self._met.get(name.lower()) or self._in_domain(name)
            if found:
                return self._of(HOSTS, found) + text[len(name):]
        return "".join(known or self._unglued(piece) for piece, known in pieces)

    def _unglued(self, text):
        """A piece of a word in which a name may stand between letters."""
        low, start, rest, done = text.lower(), 0, 0, []
        if not any(map(str.isdigit, low)) or len(low) != len(text):
            return self._rest(text)
        while start < len(low):
            end = next((start + length for length in self._lengths if low[start:start + length] in self._glued
                        and not _cuts_number(low, start) and not _cuts_number(low, start + length)), None)
            if end:
                done += [self._rest(text[rest:start]), self._of_name(low[start:end])]
                rest = end
            start = end or start + 1
        return "".join(done) + self._rest(text[rest:])

    def _rest(self, text):
        """A piece of a word without names of hosts, with the domains and addresses in it."""
        pieces = self._split(text, self._of_domain) if "." in text else [(text, None)]
        return "".join(known or _IN_WORD.sub(self._in_word, piece) for piece, known in pieces)

    def _split(self, text, known_of):
        """[(piece of a word, its pseudonym or None)]: a piece with a pseudonym is between dots, dashes and
        underscores."""
        parts, pieces, start, rest = _PARTS.split(text), [], 0, []
        while start < len(parts):
            # Each part of a text is looked at no more often than a name has parts, because a node controls the length
            # of a text.
            for end in range(min(len(parts), start + self._most_parts), start, -1):
                piece = "".join(parts[start:end])
                known = known_of(piece) if len(piece) >= _SHORTEST else None
                if known:
                    pieces += [("".join(rest), None)] * bool(rest) + [(piece, known)]
                    rest = []
                    break
            else:
                end = start + 1
                rest.append(parts[start])
            start = end
        return pieces + [("".join(rest), None)] * bool(rest)

    def _in_word(self, match):
        address = (match["ipv6"] or "").replace("-", ":") or (match["dotted"] or match["apart"]).replace(
            match["sign"] or ".", ".")
        return self._address(address, match[0]) if _is_address(address) else match[0]

    def _of_name(self, text):
        """The pseudonym of a name of a host, None for another text."""
        name = self._names.get(text) or self._names.get(text.lower())
        return self._of(HOSTS, name) if name else None

    def _of_domain(self, text):
        """The pseudonym of a domain of hosts, None for another text."""
        return self._of(DOMAINS, text.lower()) if text.lower() in self._domains else None

    def _in_domain(self, name):
        """The name in small letters if it is a host in the domain of another host; None otherwise."""
        labels = name.lower().split(".")[:_LABELS]
        known = any(".".join(labels[number:]) in self._domains for number in range(1, len(labels)))
        return name.lower() if known and name.lower() not in self._domains else None

    def _address(self, text, written):
        """The pseudonym of an address in any form; addresses that every node has, such as 127.0.0.1, stay as
        `written`."""
        address = ipaddress.ip_address(text)
        address = getattr(address, "ipv4_mapped", None) or address
        if address.is_loopback or address.is_unspecified:
            return written
        name = self._by_address.get(address)
        return self._of(HOSTS, name) if name else self._of(ADDRESSES, str(address))

    def _of(self, kind, name):
        names = self.known[kind]
        if name not in names:
            # A user may have removed lines of the mapping.
            number = next(number for number in itertools.count(len(names) + 1)
                          if _FORMS[kind] % number not in self._used[kind])
            names[name] = _FORMS[kind] % number
            self._used[kind].add(names[name])
        return names[name]


def _is_address(text):
    try:
        return bool(ipaddress.ip_address(text))
    except ValueError:
        return False


def _domains_of(name):
    """The domains that a host is in, without the last label alone."""
    labels = name.rstrip(".").split(".")
    return [".".join(labels[number:]) for number in range(1, len(labels) - 1)]


def _cuts_number(text, index):
    """True where `index` is between two digits."""
    return text[max(0, index - 1):index].isdigit() and text[index:index + 1].isdigit()
