#!/usr/bin/env python3
"""Ordinary programs with and without libiez.so: output, exit status and files are the same, and the trace has every byte.

Each row of program_table.py runs in a fresh directory of the same name: without the library, with it disabled, traced with a plan
for files elsewhere, and traced with a plan for every file. With IEZ_LONG=1 only the slow rows run, else only the others. The rows
run on a plain directory; IEZ_TABLE_PLACES="NAME=DIRECTORY:..." names other places, a mounted lab for one. IEZ_TABLE_TIMES=1
prints how long each row took.
"""

import contextlib
import fnmatch
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

import program_fixtures
from program_table import NOT_ON_LAB, ROWS, SLOW_ON_LAB

ROOT = pathlib.Path(os.environ.get("IEZ_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
IEZ = os.environ.get("IEZ", str(ROOT / "build/dev/apps/iez/iez"))
LIBRARIES = {
    "iez": os.environ.get("IEZ_PRELOAD", str(ROOT / "build/dev/preload/libiez.so")),
    "mpi_openmpi": os.environ.get("IEZ_MPI_OPENMPI", ""),
    "mpi_mpich": os.environ.get("IEZ_MPI_MPICH", ""),
}
LONG = os.environ.get("IEZ_LONG", "") not in ("", "0")
OF_LAYOUTS = ("lustre.", "trusted.")  # names of extended attributes
MODES = ("without", "disabled", "traced", "placed")


def digest(path):
    hasher = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            hasher.update(block)
    return hasher.hexdigest()


def matches(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def tree_of(folder, loose=()):
    """name -> what can be seen of it, but for times and numbers of inodes. Of loose names only that they are there."""
    tree = {}
    for parent, folders, files in os.walk(folder):
        for name in sorted(folders + files):
            path = os.path.join(parent, name)
            relative = os.path.relpath(path, folder)
            about = os.lstat(path)
            if matches(relative, loose):
                tree[relative] = stat.S_IFMT(about.st_mode)
                continue
            facts = [oct(about.st_mode), about.st_uid, about.st_gid]
            if stat.S_ISLNK(about.st_mode):
                facts.append(os.readlink(path))
            else:
                facts.append({key: os.getxattr(path, key) for key in os.listxattr(path) if not key.startswith(OF_LAYOUTS)})
            if stat.S_ISREG(about.st_mode):
                facts += [about.st_nlink, about.st_size, digest(path)]
            tree[relative] = facts
    return tree


class Outcome:
    """What a run left, without what differs from run to run."""

    def __init__(self, row, process, output, errors, tree):
        self.status = process.returncode
        self.output, self.errors = (self.scrub(row, text) for text in (output, errors))
        self.tree = tree

    @staticmethod
    def scrub(row, text):
        text = text.decode(errors="backslashreplace")
        for pattern in row.scrub:
            text = re.sub(pattern, "...", text)
        return text


class TableCase(unittest.TestCase):
    """One test a row; see add_rows(). The place is a directory that outlives the tests."""

    maxDiff = 4000
    place = None
    on_lab = False

    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        cls.addClassCleanup(cls.stack.close)
        temporary = pathlib.Path(cls.stack.enter_context(tempfile.TemporaryDirectory())).resolve()
        temporary.chmod(0o755)
        cls.made = program_fixtures.make(temporary / "made", ROOT, LONG)
        cls.segments = temporary / "segments"
        cls.plans = {"traced": temporary / "elsewhere.iezplan", "placed": temporary / "everything.iezplan"}
        cls.make_plan(cls.plans["traced"], "spread:/no/such/folder/,1M,1,0\n")
        cls.make_plan(cls.plans["placed"], "spread:/,1M,1,0-3\n")
        cls.disabled_plan = cls.plans["placed"]
        if cls.place is None:
            cls.folder = temporary / "place"
            cls.folder.mkdir()
        else:
            cls.folder = pathlib.Path(cls.stack.enter_context(tempfile.TemporaryDirectory(dir=cls.place))).resolve()
            cls.folder.chmod(0o755)

    @classmethod
    def make_plan(cls, path, lines):
        source = path.with_suffix(".csv")
        source.write_text("name,stripe_size,stripe_count,osts\n" + lines, encoding="ascii")
        subprocess.run([IEZ, "plan", "compile", source, "-o", path], check=True, stdout=subprocess.DEVNULL, timeout=60)

    def library(self, name):
        path = LIBRARIES.get(name) or str(self.made / "lib" / f"lib{name}.so")
        if not os.path.exists(path):
            self.skipTest(f"the library {name} was not built here")
        return path

    def environment(self, row, mode):
        variables = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C", "TZ": "UTC",
                     "HOME": str(self.made / "home"), "PYTHON": sys.executable, "PYTHONDONTWRITEBYTECODE": "1",
                     "BIN": str(self.made / "bin"), "MADE": str(self.made), "SOURCE": str(ROOT),
                     "HABITS": str(ROOT / "tests/preload/table/habits.py"), **row.variables}
        libraries = row.without if mode == "without" else row.libraries
        if libraries:
            variables["LD_PRELOAD"] = ":".join(map(self.library, libraries))
        if mode != "without":
            variables |= {"IEZ_TRACE": str(self.segments), "IEZ_PLAN": str(self.plans.get(mode, self.disabled_plan))}
        if self.place is not None:
            variables["IEZ_EXCEPT"] = "/proc:/sys"  # it may be in a folder that is left out as a rule, such as /run or /dev
        if mode == "disabled":
            variables["IEZ_DISABLE"] = "1"
        if mode == "traced":
            variables["IEZ_TRACE_CALLS"] = "1"
        return variables

    def shell(self, row, command, work, variables):
        with subprocess.Popen(["bash", "-e", "-c", command], cwd=work, env=variables, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
            try:
                return process, *process.communicate(timeout=row.timeout)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, errors = process.communicate()
                self.fail(f"no end after {row.timeout} s; {output[-500:]}; {errors[-500:]}")

    def run_once(self, row, mode):
        """Set up, run, look, and clear. Gives what was left, and the trees before and after."""
        work = self.folder / "work"
        work.mkdir(mode=0o755)
        shutil.rmtree(self.segments, ignore_errors=True)
        self.segments.mkdir()
        self.segments.chmod(0o777)
        try:
            if row.setup:
                process, _, errors = self.shell(row, row.setup, work, self.environment(row, "without"))
                self.assertEqual((process.returncode, errors), (0, b""), "the set-up failed")
            before = tree_of(work, row.loose)
            outcome = Outcome(row, *self.shell(row, row.command, work, self.environment(row, mode)), tree_of(work, row.loose))
            new = [work / name for name in outcome.tree if name not in before]
            sizes = {str(path.relative_to(work)): path.stat().st_size for path in new if path.is_file() and not path.is_symlink()}
            self.links = {name: [other for other in sizes if os.path.samefile(work / other, work / name)] for name in sizes
                          if (work / name).stat().st_nlink > 1}
            return outcome, sizes, str(work)
        finally:
            subprocess.run(["chmod", "-R", "u+rwX", work], check=True)
            shutil.rmtree(work)

    def show_trace(self):
        """final name -> (bytes written, bytes not seen), of all segments."""
        result = subprocess.run([IEZ, "trace", "show", "--json", self.segments], check=False, capture_output=True, timeout=120)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        document = json.loads(result.stdout)
        self.assertEqual((document["problems"], document["skipped_rows"]), ([], 0))
        files = {}
        for entry in document["rows"]:
            name = entry["renamed"] or entry["name"]
            written, unseen = files.get(name, (0, 0))
            files[name] = (written + entry["written"], unseen + entry["unseen"])
        return files

    def check_trace(self, row, sizes, work):
        expected = {name: size for name, size in sizes.items() if not matches(name, row.unseen)}
        if not any(self.segments.iterdir()):
            self.assertEqual((expected, row.written), ({}, {}), "nothing was traced")
            return
        files = self.show_trace()
        # A file with several names was made by one of them.
        found = {name: max((files[path] for other in self.links.get(name, [name]) if (path := f"{work}/{other}") in files),
                           key=sum, default=None) for name in expected}
        lost = {name: (size, found[name]) for name, size in expected.items() if sum(found[name] or (-1,)) < size}
        self.assertEqual(lost, {}, "files with more bytes than written and unseen together")
        written = {name: files.get(f"{work}/{name}", (None,))[0] for name in row.written}
        self.assertEqual(written, row.written, "bytes written")

    def check_row(self, row):
        if self.on_lab and row.name in NOT_ON_LAB:
            self.skipTest(NOT_ON_LAB[row.name])
        program_fixtures.require(self, row.needs, self.folder, self.made)
        expected, _, _ = self.run_once(row, "without")
        told = f"without the library: {expected.output[-2000:]}\n{expected.errors[-2000:]}"
        self.assertEqual(expected.status, row.status, told)
        for mode in MODES[1:]:
            with self.subTest(mode=mode):
                found, sizes, work = self.run_once(row, mode)
                self.assertEqual((found.status, found.errors, found.output), (expected.status, expected.errors, expected.output))
                self.assertEqual(found.tree, expected.tree)
                if mode == "disabled":
                    self.assertEqual(list(self.segments.iterdir()), [])
                else:
                    self.check_trace(row, sizes, work)


def add_rows(case):
    """A method a row, so that each is reported, and can be chosen, by its name."""

    def test_of(row):
        def test(self):
            start = time.monotonic()
            try:
                self.check_row(row)
            finally:
                if os.environ.get("IEZ_TABLE_TIMES"):
                    print(f"\n{time.monotonic() - start:7.2f} s  {row.name}", file=sys.stderr)
        return test

    for row in ROWS:
        if (row.long or (case.on_lab and row.name in SLOW_ON_LAB)) == LONG:
            setattr(case, f"test_{row.name}", test_of(row))
    return case


def cases_of(places):
    """A class for the plain directory, or one for each place that is named."""
    if not places:
        return {"OnPlainDirectory": add_rows(type("OnPlainDirectory", (TableCase,), {}))}
    cases = {}
    for entry in places.split(":"):
        name, _, folder = entry.partition("=")
        cases[f"On_{name}"] = add_rows(type(f"On_{name}", (TableCase,), {"place": folder, "on_lab": name == "lab"}))
    return cases


globals().update(cases_of(os.environ.get("IEZ_TABLE_PLACES", "")))
del TableCase  # has no rows

if __name__ == "__main__":
    unittest.main()
