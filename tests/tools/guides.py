# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guides of the documentation site, docs/docsite/rst, from the pages in docs: the site takes reStructuredText only.

It knows the Markdown that these pages use: headings, paragraphs, lists, tables, blocks of code, code, bold, links.
"""

import re

import yaml
from results import TOP

DOCS = TOP / "docs"
LABEL = "ansible_collections.kubenode.netfilter.docsite."
REPOSITORY = "https://github.com/kubenode/kubenode.netfilter/blob/main/"
UNDERLINES = "=-~^"
INLINE = re.compile(r"`(?P<code>[^`]+)`|\[(?P<text>[^\]]+)\]\((?P<target>[^()\s]+)\)|<(?P<url>https?://[^>]+)>"
                    r"|(?P<bold>\*\*[^*]+\*\*)")
ITEM = re.compile(r"(?P<mark>- |\d+\. )")


def names():
    """The guides in the order of the site, by the names of their pages."""
    sections = yaml.safe_load((DOCS / "docsite/extra-docs.yml").read_text(encoding="utf-8"))["sections"]
    return [name for section in sections for name in section["toctree"]]


def pages():
    """A generator of (path, text): each guide."""
    known = names()
    for name in known:
        yield DOCS / "docsite/rst" / (name + ".rst"), guide(name, known)


def guide(name, known):
    text = (DOCS / (name + ".md")).read_text(encoding="utf-8")
    head = "..\n  Written by ``make docs`` from docs/%s.md; change that page.\n\n" % name
    blocks = [block(lines, name, known) for lines in blocks_of(text)]
    return head + "\n\n".join(part for part in blocks if part) + "\n"


def blocks_of(text):
    """Lists of lines: a heading, a block of code with its blank lines, or lines up to a blank one."""
    found, fenced = [[]], False
    for line in text.splitlines():
        is_code = fenced or line.startswith(("    ", "```"))
        within_code = found[-1] and (found[-1][0].startswith("    ") or found[-1][0].startswith("```"))
        if line.startswith("```") and not fenced:
            found.append([])
        elif not fenced and within_code and line and not is_code:
            found.append([])
        elif not fenced and (line.startswith("#") or not line and not within_code):
            found.append([])
        if line or within_code:
            found[-1].append(line)
        if line.startswith("```"):
            fenced = not fenced
            if not fenced:
                found.append([])
        elif line.startswith("#") and not fenced:
            found.append([])
    return [lines for lines in found if lines]


def block(lines, page, known):
    first = lines[0]
    if first.startswith("#"):
        return heading(first, page)
    if first.startswith("```"):
        return code(["    " + line for line in lines[1:-1]], first[3:] or "text")
    if first.startswith("    "):
        return code(lines, "text")
    if first.startswith("|"):
        return table(lines, page, known)
    if first.startswith("!["):
        return ""  # The site has no file of ours but the guides.
    if ITEM.match(first):
        return items(lines, page, known)
    return inline("\n".join(lines), page, known)


def anchor(words):
    return re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")


def heading(line, page):
    marks, _blank, words = line.partition(" ")
    label = LABEL + page + ("" if len(marks) == 1 else "." + anchor(words))
    words = words.replace("`", "")
    return ".. _%s:\n\n%s\n%s" % (label, escaped(words), UNDERLINES[len(marks) - 1] * len(words))


def code(lines, language):
    while not lines[-1].strip():
        lines = lines[:-1]
    return ".. code-block:: %s\n\n%s" % (language, "\n".join(lines))


def table(lines, page, known):
    rows = [[cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            for line in lines if not re.fullmatch(r"[| :-]+", line)]
    text = [".. list-table::", "   :header-rows: 1", "   :widths: auto", ""]
    for row in rows:
        for number, cell in enumerate(row):
            text.append(("   * - " if number == 0 else "     - ") + inline(cell, page, known))
    return "\n".join(line.rstrip() for line in text)


def items(lines, page, known):
    """Items of a list; a line that begins none goes on with the one before it."""
    found = []
    for line in lines:
        mark = ITEM.match(line)
        if mark:
            found.append([mark.group("mark"), [line[mark.end():]]])
        else:
            found[-1][1].append(line.strip())
    return "\n".join(mark + inline("\n".join(texts), page, known).replace("\n", "\n" + " " * len(mark))
                     for mark, texts in found)


def inline(text, page, known):
    found, end = [], 0
    for match in INLINE.finditer(text):
        found += [escaped(text[end:match.start()]), marked(match, page, known)]
        # A letter beside a mark would hide it.
        if text[match.end():match.end() + 1].isalnum():
            found.append("\\ ")
        if match.start() and text[match.start() - 1].isalnum():
            found.insert(-1, "\\ ")
        end = match.end()
    return "".join(found) + escaped(text[end:])


def marked(match, page, known):
    if match.group("code"):
        return "``%s``" % match.group("code")
    if match.group("url"):
        return match.group("url")
    if match.group("bold"):
        return match.group("bold")
    words = " ".join(match.group("text").replace("`", "").split())
    return link(words, match.group("target"), page, known)


def link(words, target, page, known):
    path, _sharp, part = target.partition("#")
    if "://" in path:
        return "`%s <%s>`__" % (words, target)
    name = path[:-len(".md")] if path.endswith(".md") else path
    name = name or page
    if name in known:
        return ":ref:`%s <%s>`" % (words, LABEL + name + ("." + part if part else ""))
    place = (DOCS / path).resolve().relative_to(TOP)
    return "`%s <%s>`__" % (words, REPOSITORY + place.as_posix() + ("#" + part if part else ""))


def escaped(text):
    return re.sub(r"([\\*|]|_(?!\w))", r"\\\1", text)
