# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small mistakes to make in the code: the operators and constants that `make mutate` changes, and a seeded sample.

The same seed on the same sources gives the same mutations, whatever the tests are.
"""

import ast
import collections
import hashlib
import itertools
import re

NODE = "plugins/module_utils/"
FOLDERS = (*(NODE + name for name in ("_parse", "_rules", "_script", "_look", "_change")), "plugins/plugin_utils")
FLIPS = {ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="),
         ast.GtE: (">=", ">"), ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"), ast.Is: ("is", "is not"),
         ast.IsNot: ("is not", "is"), ast.And: ("and", "or"), ast.Or: ("or", "and")}
# No test waits, and none meets the limit of a size to the byte.
DURATION, GREATEST = re.compile("(?i)seconds|timeout"), 255
LINE_OF_CODE = re.compile(rb"(?m)^\s*[^\s#].*$")
PLAIN = re.compile(rb"""(["'])[^"'\\]*\1""")
Mutation = collections.namedtuple("Mutation", "path start end new")


def sites(data):
    """Return the possible mutations of a source as sorted (start, end, replacement), all in bytes."""
    tree, lines, found = ast.parse(data), [0], set()
    for line in data.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))

    def span(node):
        return lines[node.lineno - 1] + node.col_offset, lines[node.end_lineno - 1] + node.end_col_offset

    def flip(operator, left, right):
        old, new = FLIPS[type(operator)]
        start = data.find(old.encode(), span(left)[1], span(right)[0])
        if start >= 0:
            found.add((start, start + len(old), new.encode()))

    left_alone = set()
    for node in ast.walk(tree):
        names = [getattr(target, "id", "") for target in getattr(node, "targets", ())]
        if isinstance(node, ast.JoinedStr) or any(map(DURATION.search, [*names, getattr(node, "arg", None) or ""])):
            left_alone.update(map(id, ast.walk(node)))
    for node in ast.walk(tree):
        if id(node) in left_alone:
            continue
        dropped = list(node.ifs) if isinstance(node, ast.comprehension) else []
        if isinstance(node, (ast.If, ast.IfExp)) and isinstance(node.test, (ast.Call, ast.Name, ast.Attribute)):
            dropped.append(node.test)
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            for operator, pair in zip(node.ops, itertools.pairwise(operands), strict=True):
                flip(operator, *pair)
            for text in [part for operand in operands for part in [operand, *getattr(operand, "elts", ())]]:
                if isinstance(text, ast.Constant) and PLAIN.fullmatch(data[slice(*span(text))]):
                    found.add((span(text)[1] - 1,) * 2 + (b"x",))
        elif isinstance(node, ast.BoolOp):
            for pair in itertools.pairwise(node.values):
                flip(node.op, *pair)
            dropped += node.values
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            found.add((span(node)[0], span(node.operand)[0], b""))
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            found.add((*span(node), str(not node.value).encode()))
        elif isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value <= GREATEST:
            found.add((*span(node), b"%d" % (node.value + 1)))
        neutral = b"False" if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) else b"True"
        found.update((*span(test), neutral) for test in dropped)
    return sorted(found)


def sample(tree, seed, count, folders=FOLDERS):
    """Return mutations of a tree, spread over the folders in proportion to their lines of code."""
    texts = [{path: path.read_bytes() for path in sorted((tree / folder).rglob("*.py"))} for folder in folders]
    sizes = [sum(len(LINE_OF_CODE.findall(data)) for data in each.values()) for each in texts]
    chosen, before = [], 0
    for number, each in enumerate(texts):
        after = round(count * sum(sizes[:number + 1]) / (sum(sizes) or 1))
        ranked = []
        for path, data in each.items():
            name = str(path.relative_to(tree))
            for start, end, new in sites(data):
                # By its line and not by its number, so that a change elsewhere leaves the other mutations as they are.
                line = data.rfind(b"\n", 0, start) + 1
                key = b"%d %s %d %s" % (seed, name.encode(), start - line, data[line:end] + new)
                ranked.append((hashlib.sha256(key).digest(), Mutation(name, start, end, new)))
        chosen += sorted(mutation for _rank, mutation in sorted(ranked)[:after - before])
        before = after
    return chosen


def apply(data, mutation):
    return data[:mutation.start] + mutation.new + data[mutation.end:]


def describe(data, mutation):
    """Return the place of a mutation, the change, and the line before and after."""
    number = data.count(b"\n", 0, mutation.start)
    before, after = (text.decode().split("\n")[number].strip() for text in (data, apply(data, mutation)))
    old = " ".join(data[mutation.start:mutation.end].decode().split())
    return "%s:%d  %s -> %s\n      - %s\n      + %s" % (
        mutation.path, number + 1, old or "nothing", mutation.new.decode() or "nothing", before, after)
