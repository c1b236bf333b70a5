# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sends requests to Services, each over a new connection, and counts the lost ones.

    traffic.py COUNT NAME=ADDRESS:PORT...    prints {NAME: lost requests} as JSON

It runs in the network namespace of a client: a pod, the node, or the outside. Standard library only.
"""

import concurrent.futures
import json
import socket
import ssl
import sys
import time

PAUSE_SECONDS = 0.1
TIMEOUT_SECONDS = 3


def answered(host, port):
    """Whether a request over a new connection gets an answer in time."""
    try:
        with socket.create_connection((host, port), TIMEOUT_SECONDS) as connection:
            connection.settimeout(TIMEOUT_SECONDS)
            if port in (443, 6443):
                with ssl._create_unverified_context().wrap_socket(connection) as secure:
                    return bool(secure.version())
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
            return bool(connection.recv(100))
    except OSError:
        return False


def lost(count, host, port):
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        sent = []
        for _number in range(count):
            sent.append(pool.submit(answered, host, port))
            time.sleep(PAUSE_SECONDS)
    return sum(not one.result() for one in sent)


def main():
    count = int(sys.argv[1])
    targets = [(name, *address.rsplit(":", 1)) for name, _is, address in (word.partition("=") for word in sys.argv[2:])]
    with concurrent.futures.ThreadPoolExecutor(len(targets)) as pool:
        results = {name: pool.submit(lost, count, host, int(port)) for name, host, port in targets}
    print(json.dumps({name: result.result() for name, result in results.items()}))


if __name__ == "__main__":
    main()
