#!/usr/bin/env python3
"""Compares the layers that CMake declares with the includes that the sources have.

usage: check_layers.py --layers build/PRESET/layers.txt --root DIR [--graph]

The layers file has one row a module, "module:dependency,dependency", written by iez_write_layers() from the iez_module() calls.
What fails:

  stranger   src/M includes a module that M neither declares nor reaches through what it declares
  cycle      modules that need each other, by declaration or by include
  unused     M declares D, but no file of src/M includes D, and every module that src/M does include is reachable without D
  outside    src/ includes from apps/, bench/ or tests/
  row        a folder of src/ without a row, a row without a folder, a dependency without a row
  header     a third-party header (not C, C++, POSIX or Linux) in one of our headers
  pure       a pure module that includes input/output, threads, a clock or an impure module, or reads a clock

Tests (*_test.cpp, *_test_support.hpp) link what their module links and obey the same rules, but may include test libraries in a
header and, in a pure module, read files. Nothing else may include a *_test_support.hpp.

Exit status: 0 all is well, 1 something is not, 2 usage.
"""

import argparse
import pathlib
import re
import sys
from typing import NamedTuple

# The simulator runs these very laws, so they may touch nothing but their arguments.
PURE = ("model", "forecast", "flow", "placement", "planning", "contention", "congestion", "sim")
IMPURE_BASE = {"base/log.hpp": "the log", "base/clock.hpp": "a clock"}
OUTSIDE = ("apps", "bench", "tests")

CPP_HEADERS = frozenset("""
    algorithm any array atomic barrier bit bitset cassert ccomplex cctype cerrno cfenv cfloat charconv chrono cinttypes
    ciso646 climits clocale cmath codecvt compare complex concepts condition_variable coroutine csetjmp csignal cstdalign
    cstdarg cstdbool cstddef cstdint cstdio cstdlib cstring ctgmath ctime cuchar cwchar cwctype deque exception execution
    expected filesystem flat_map flat_set format forward_list fstream functional future generator initializer_list iomanip ios
    iosfwd iostream istream iterator latch limits list locale map mdspan memory memory_resource mutex new numbers numeric
    optional ostream print queue random ranges ratio regex scoped_allocator semaphore set shared_mutex source_location span
    spanstream sstream stack stacktrace stdexcept stdfloat stop_token streambuf string string_view strstream syncstream
    system_error thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant vector
    version""".split())
C_HEADERS = frozenset("""
    assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h iso646.h limits.h locale.h math.h setjmp.h signal.h
    stdalign.h stdarg.h stdatomic.h stdbool.h stddef.h stdint.h stdio.h stdlib.h stdnoreturn.h string.h tgmath.h threads.h
    time.h uchar.h wchar.h wctype.h""".split())
SYSTEM_HEADERS = frozenset("""
    aio.h byteswap.h cpio.h cxxabi.h dirent.h dlfcn.h elf.h endian.h err.h execinfo.h fcntl.h features.h fmtmsg.h fnmatch.h
    fts.h ftw.h getopt.h glob.h grp.h iconv.h ifaddrs.h langinfo.h libgen.h link.h malloc.h mntent.h monetary.h mqueue.h
    ndbm.h netdb.h nl_types.h paths.h poll.h pthread.h pty.h pwd.h regex.h resolv.h sched.h search.h semaphore.h shadow.h
    spawn.h strings.h stropts.h sysexits.h syslog.h tar.h termios.h trace.h ucontext.h ulimit.h unistd.h utime.h utmpx.h
    wordexp.h""".split())
SYSTEM_FOLDERS = frozenset("sys linux asm asm-generic net netinet arpa".split())

# Headers of the C and C++ library through which code reaches the world; every POSIX or Linux header counts, too.
IO_HEADERS = frozenset("cstdio filesystem fstream iostream print stdio.h syncstream".split())
THREAD_HEADERS = frozenset("""
    atomic barrier condition_variable execution future latch mutex semaphore shared_mutex stdatomic.h stop_token thread
    threads.h""".split())
CLOCK_HEADERS = frozenset("ctime time.h".split())

# Comments and raw strings are blanked; strings and characters are matched only so that a "/*" inside them opens no comment.
NOT_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/"""
    r"""|\bR"(?P<delimiter>[^()\s\\]{0,16})\(.*?\)(?P=delimiter)\""""
    r"""|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])*'""",
    re.DOTALL,
)
INCLUDE = re.compile(r"""^[ \t]*\#[ \t]*include[ \t]*(?:"(?P<quoted>[^"\n]+)"|<(?P<angled>[^>\n]+)>)""", re.MULTILINE)
CLOCK_READ = re.compile(r"\b(?:system|steady|high_resolution|utc|tai|gps|file)_clock::now\b")


class Include(NamedTuple):
    """One #include of one file."""

    file: pathlib.Path
    line: int
    target: str
    angled: bool


class UsageError(Exception):
    """What the caller gave cannot be read."""


def read_layers(path):
    """The rows of a layers file: module -> list of declared dependencies, in the order of the file."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the layers: {error}") from error
    rows = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        match = re.fullmatch(r"(\w+):((?:\w+(?:,\w+)*)?)", line.strip())
        if not match:
            raise UsageError(f"{path}:{number}: '{line}': expected module:dependency,dependency")
        module, dependencies = match.groups()
        if module in rows:
            raise UsageError(f"{path}:{number}: a second row for {module}")
        rows[module] = dependencies.split(",") if dependencies else []
    if not rows:
        raise UsageError(f"{path}: no rows")
    return rows


def without_comments(text):
    """The text with comments and raw strings blanked; lines keep their numbers."""

    def blank(match):
        token = match.group()
        if token[0] in "\"'":
            return token
        return re.sub(r"[^\n]", " ", token)

    return NOT_CODE.sub(blank, text)


def reachable(graph, start):
    """Every module that start reaches in graph, without start itself unless it is on a cycle."""
    seen = set()
    todo = list(graph.get(start, ()))
    while todo:
        module = todo.pop()
        if module not in seen:
            seen.add(module)
            todo.extend(graph.get(module, ()))
    return seen


def find_cycles(graph):
    """One shortest cycle for each group of modules that reach each other, as a list that starts and ends alike."""
    reach = {module: reachable(graph, module) for module in graph}
    cycles = []
    done = set()
    for start in graph:
        if start in done or start not in reach[start]:
            continue
        done.update(module for module in reach[start] if start in reach.get(module, ()))
        paths = [[start]]
        while paths[0][-1] != start or len(paths[0]) == 1:
            path = paths.pop(0)
            following = [module for module in graph.get(path[-1], ()) if module == start or module not in path]
            paths.extend(path + [module] for module in following)
        cycles.append(paths[0])
    return cycles


def is_test(name):
    """Whether a file is part of a unit test."""
    return name.endswith(("_test.cpp", "_test_support.hpp", "_test_support.cpp"))


def third_party(target):
    """Whether an angled header is neither of the languages nor of the system."""
    if "/" in target:
        return target.split("/", 1)[0] not in SYSTEM_FOLDERS
    return target not in CPP_HEADERS and target not in C_HEADERS and target not in SYSTEM_HEADERS


def impure(target):
    """What an angled header brings that a pure module must not have; None if nothing."""
    if target in THREAD_HEADERS or target == "pthread.h":
        return "threads"
    if target in CLOCK_HEADERS or target in ("sys/time.h", "sys/times.h", "sys/timerfd.h"):
        return "a clock"
    if target in IO_HEADERS:
        return "input/output"
    if target in SYSTEM_HEADERS or target.split("/", 1)[0] in SYSTEM_FOLDERS:
        return "the operating system"
    return None


class Checker:
    """Reads a tree and collects what is wrong with it."""

    def __init__(self, root, layers_path):
        self.root = root
        self.source = root / "src"
        self.layers_path = layers_path
        self.declared = read_layers(layers_path)
        self.closure = {module: reachable(self.declared, module) for module in self.declared}
        self.findings = []
        self.edges = {}  # module -> module -> the first include that makes it
        if not self.source.is_dir():
            raise UsageError(f"{self.source}: no such folder")
        self.folders = sorted(path.name for path in self.source.iterdir() if path.is_dir())

    def run(self):
        """All checks; returns the findings in order of file and line."""
        self.check_rows()
        for file in sorted(self.source.rglob("*")):
            if file.suffix in (".hpp", ".cpp", ".h", ".c") and file.is_file():
                self.check_file(file)
        self.check_cycles()
        self.check_unused()
        return [f"{name}:{line}: {message}" if line else f"{name}: {message}" for name, line, message in sorted(self.findings)]

    def graph(self):
        """A table of who includes whom, in the order of the layers."""
        used = {module: [other for other in self.declared if other in self.edges.get(module, ())] for module in self.declared}
        rows = [("module", "includes", "is included by"), ("---", "---", "---")]
        for module in self.declared:
            users = [other for other in self.declared if module in used[other]]
            name = module + "*" if module in PURE else module
            rows.append((name, " ".join(used[module]) or "-", " ".join(users) or "-"))
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)

    def report(self, place, line, message):
        name = place.relative_to(self.root) if place.is_relative_to(self.root) else place
        self.findings.append((str(name), line, message))

    def refuse(self, include, reason):
        target = f"<{include.target}>" if include.angled else f'"{include.target}"'
        self.report(include.file, include.line, f"includes {target}, {reason}")

    def check_rows(self):
        for folder in self.folders:
            if folder not in self.declared:
                self.report(self.source / folder, 0,
                            "no row in the layers: call iez_module() there and add_subdirectory() it, or remove it")
        for module, dependencies in self.declared.items():
            if module not in self.folders:
                self.report(self.layers_path, 0, f"{module} has a row but no folder src/{module}: remove its iez_module()")
            for dependency in dependencies:
                if dependency not in self.declared:
                    self.report(self.layers_path, 0,
                                f"{module} depends on {dependency}, which has no row: add the module or drop it from DEPS")

    def check_file(self, file):
        text = without_comments(file.read_text(encoding="utf-8", errors="replace"))
        parts = file.relative_to(self.source).parts
        if len(parts) < 2:
            self.report(file, 1, "belongs to no module: move it into a folder of src/")
            return
        module = parts[0]
        for match in INCLUDE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            include = Include(file, line, match["quoted"] or match["angled"], match["quoted"] is None)
            self.check_include(module, include)
        if module in PURE and not is_test(file.name):
            for match in CLOCK_READ.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                self.report(file, line,
                            f"{module} is pure and must not read a clock ({match.group()}): take the time as an argument")

    def check_include(self, module, include):
        if self.points_outside(include):
            self.refuse(include, f"but src/ must not use {', '.join(OUTSIDE)}: move what both need into a module")
            return
        first = include.target.split("/", 1)[0]
        ours = "/" in include.target and (first in self.folders or first in self.declared)
        if include.angled and not ours:
            self.check_angled(module, include)
            return
        if not ours:
            self.refuse(include, 'which names no module of src/: write "module/file.hpp" for ours, <...> for others')
            return
        if is_test(include.target) and not is_test(include.file.name):
            self.refuse(include, "which is for tests: move what both need to a header of its own")
        if first != module:
            self.edges.setdefault(module, {}).setdefault(first, include)
            if first not in self.closure.get(module, ()):
                self.refuse(include, f"but {module} does not depend on {first}: add {first} to DEPS in "
                                     f"src/{module}/CMakeLists.txt if the design allows it, or do without")
        if module in PURE and not is_test(include.file.name):
            if include.target in IMPURE_BASE:
                self.refuse(include, f"but {module} is pure and must not use {IMPURE_BASE[include.target]}: "
                                     "return values, and take the time as an argument")
            elif first != "base" and first not in PURE:
                self.refuse(include, f"but {module} is pure and {first} is not: take its values as arguments")

    def check_angled(self, module, include):
        if include.file.suffix in (".hpp", ".h") and third_party(include.target) and not is_test(include.file.name):
            self.refuse(include, "but third-party headers stay in .cpp files: hide the type behind a pointer to Impl")
        if module in PURE and not is_test(include.file.name):
            brings = impure(include.target)
            if brings:
                self.refuse(include, f"but {module} is pure and must not use {brings}: move that to a module that is not")

    def points_outside(self, include):
        if include.angled or ".." not in include.target:
            return include.target.split("/", 1)[0] in OUTSIDE and "/" in include.target
        target = (include.file.parent / include.target).resolve()
        return any(target.is_relative_to((self.root / folder).resolve()) for folder in OUTSIDE)

    def check_cycles(self):
        for cycle in find_cycles(self.declared):
            self.report(self.layers_path, 0,
                        f"declared dependencies form a cycle, {' -> '.join(cycle)}: move what both need below both")
        for cycle in find_cycles({module: list(targets) for module, targets in self.edges.items()}):
            for module, following in zip(cycle, cycle[1:]):
                self.refuse(self.edges[module][following],
                            f"part of the cycle {' -> '.join(cycle)}: move what both need below both")

    def check_unused(self):
        for module, dependencies in self.declared.items():
            if module not in self.folders:
                continue
            needed = set(self.edges.get(module, ()))
            for dependency in dependencies:
                if dependency in needed or dependency not in self.declared:
                    continue
                others = [other for other in dependencies if other != dependency]
                without = set(others).union(*(self.closure.get(other, ()) for other in others))
                if not needed & (self.closure[dependency] - without):
                    self.report(self.layers_path, 0,
                                f"{module} declares {dependency}, but nothing in src/{module} includes it, and all that is "
                                f"included is reachable without it: drop {dependency} from DEPS in src/{module}/CMakeLists.txt")


def main(arguments):
    parser = argparse.ArgumentParser(description="Compares declared layers with real includes.")
    parser.add_argument("--layers", required=True, type=pathlib.Path, help="layers.txt of a build folder")
    parser.add_argument("--root", required=True, type=pathlib.Path, help="the repository")
    parser.add_argument("--graph", action="store_true", help="also print a table of who includes whom")
    options = parser.parse_args(arguments)
    try:
        checker = Checker(options.root, options.layers)
        findings = checker.run()
    except UsageError as error:
        print(f"check_layers: {error}", file=sys.stderr)
        return 2
    for finding in findings:
        print(finding, file=sys.stderr)
    if options.graph:
        print(checker.graph())
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
