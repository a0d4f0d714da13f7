#!/usr/bin/env python3
"""What the pages show is what the program does, and what they link to exists.

A fenced block marked `console` holds commands, "$ ...", each followed by its output. Commands that begin with "$ iez" are run in
tests/fixtures/captures, without a UTF-8 locale, and must succeed. Output that is shown must be equal; a line "..." stands for any
lines. A command whose quotes are open goes on in the next line.
"""

import functools
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("IEZ_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
IEZ = pathlib.Path(os.environ.get("IEZ", ROOT / "build/dev/apps/iez/iez")).resolve()
CAPTURES = ROOT / "tests/fixtures/captures"
ENVIRONMENT = {"PATH": f"{IEZ.parent}:{os.environ.get('PATH', '')}", "LC_ALL": "C", "TERM": "dumb"}

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), CAPTURES / "SOURCES.md"])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


def text_of(page):
    return page.read_text(encoding="utf-8")


def blocks(page, language):
    return [body for kind, body in FENCE.findall(text_of(page)) if kind == language]


def is_whole(command):
    try:
        shlex.split(command)
    except ValueError:
        return False
    return True


def commands_of(block):
    """Pairs of a command and the lines shown below it."""
    pairs = []
    for line in block.splitlines():
        if pairs and not is_whole(pairs[-1][0]):
            pairs[-1] = (f"{pairs[-1][0]}\n{line}", [])
        elif line.startswith("$ "):
            pairs.append((line[2:], []))
        elif pairs:
            pairs[-1][1].append(line)
    return [(command, strip_blank(shown)) for command, shown in pairs]


def strip_blank(lines):
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines


def matches(shown, printed):
    """True if the lines are equal, "..." being any run of lines."""

    @functools.cache
    def rest(i, j):
        if i == len(shown):
            return j == len(printed)
        if shown[i] == "...":
            return any(rest(i + 1, k) for k in range(j, len(printed) + 1))
        return j < len(printed) and shown[i] == printed[j] and rest(i + 1, j + 1)

    return rest(0, 0)


def run(command, **options):
    return subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False, timeout=120,
                          stdin=subprocess.DEVNULL, **{"cwd": CAPTURES, "env": ENVIRONMENT, **options})


def anchors(page):
    """The fragments that headings of a page make."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text_of(page)), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def table_rows(text):
    """The cells of each row of each table, without headings."""
    rows = []
    for line in text.splitlines():
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return [row for i, row in enumerate(rows) if row[0] != "---" and not (i + 1 < len(rows) and rows[i + 1][0] == "---")]


def parameter_table():
    """parameter -> (names, homes), as src/lustre/params.cpp has it."""
    source = (ROOT / "src/lustre/params.cpp").read_text(encoding="utf-8")
    names = {key: re.findall(r'"([^"]+)"', values) for key, values in re.findall(r"constexpr Names\d (k\w+)\{([^}]*)\}", source)}
    homes = {key: values.replace(" ", "").split(",") for key, values in re.findall(r"constexpr std::array (k\w+)\{([a-z, ]+)\}", source)}
    rows = re.findall(r"ParamRow\{Param::(\w+), K::\w+, (k\w+), (k\w+)\}", source)
    return {parameter: (names[name], homes[home]) for parameter, name, home in rows}


class Commands(unittest.TestCase):
    maxDiff = None

    def test_shown_output_is_real(self):
        tried = 0
        for page in PAGES:
            for block in blocks(page, "console"):
                for command, shown in commands_of(block):
                    if not command.startswith("iez "):
                        continue
                    tried += 1
                    with self.subTest(page=page.name, command=command):
                        result = run(command)
                        self.assertEqual(result.returncode, 0, result.stderr)
                        if shown and not matches(shown, strip_blank(result.stdout.splitlines())):
                            self.assertEqual("\n".join(shown), result.stdout)
        self.assertGreater(tried, 10)

    def test_readme_and_user_guide_show_something(self):
        for page in (ROOT / "README.md", ROOT / "docs/guide/user-guide.md"):
            self.assertTrue(blocks(page, "console"), page)

    def test_elision(self):
        self.assertTrue(matches(["a", "...", "d"], ["a", "b", "c", "d"]))
        self.assertTrue(matches(["..."], []))
        self.assertFalse(matches(["a", "...", "d"], ["a", "b"]))
        self.assertFalse(matches(["a"], ["a", "b"]))

    def test_the_capture_script_takes_what_iez_reads(self):
        [script] = blocks(ROOT / "docs/guide/captures.md", "bash")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            for capture, commands in (("lustre-2.17.0-after", ("status", "top")), ("lustre-2.10.1", ("status", "top"))):
                with self.subTest(capture=capture):
                    result = run(script, cwd=path, env={**ENVIRONMENT, "FROM": str(CAPTURES / capture)})
                    self.assertEqual(result.returncode, 0, result.stderr)
                    packed = result.stdout.strip()
                    name = packed.removesuffix(".tar.gz")
                    self.assertTrue((path / packed).is_file())
                    (path / name).rename(path / capture)  # the server of a capture without a host name is called by its folder
                    for command in commands:
                        ours, theirs = (run(f"iez {command} --root {capture}", cwd=folder) for folder in (path, CAPTURES))
                        self.assertEqual((ours.stdout, ours.stderr), (theirs.stdout, theirs.stderr))
                        self.assertEqual(ours.returncode, 0, ours.stderr)

    def test_the_tour(self):
        tour = ROOT / "examples/tour.sh"
        for locale in ("C", "C.UTF-8"):
            with self.subTest(locale=locale), tempfile.TemporaryDirectory() as folder:
                result = subprocess.run([tour], cwd=folder, env={**ENVIRONMENT, "LC_ALL": locale, "IEZ": str(IEZ)}, capture_output=True,
                                        check=False, timeout=60, stdin=subprocess.DEVNULL)
                self.assertEqual((result.returncode, result.stderr.decode()), (0, ""))
                text = result.stdout.decode("ascii" if locale == "C" else "utf-8")
                self.assertGreaterEqual(len(re.findall(r"^\$ iez ", text, flags=re.MULTILINE)), 7)


class Links(unittest.TestCase):
    def test_links_between_pages_resolve(self):
        for page in PAGES:
            text = FENCE.sub("", text_of(page))
            for target in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", text):
                if re.match(r"[a-z]+:", target):
                    continue
                with self.subTest(page=page.name, target=target):
                    name, _, fragment = target.partition("#")
                    linked = (page.parent / name).resolve() if name else page
                    self.assertTrue(linked.exists())
                    if fragment:
                        self.assertIn(fragment, anchors(linked))

    def test_every_page_of_the_guide_is_linked_from_another(self):
        linked = set()
        for page in PAGES:
            for target in re.findall(r"\[[^\]]*\]\(([^)\s#:]+)\)", text_of(page)):
                found = (page.parent / target).resolve()
                if found != page.resolve():
                    linked.add(found)
        for page in PAGES:
            if page.name != "README.md":
                self.assertIn(page.resolve(), linked, f"nobody links to {page.relative_to(ROOT)}")


class Agreement(unittest.TestCase):
    maxDiff = None

    def test_parameters(self):
        listed = {}
        for row in table_rows(text_of(ROOT / "docs/guide/parameters.md")):
            if len(row) == 4:
                listed[row[0].strip("`")] = (re.findall(r"`([^`]+)`", row[1]), row[2].split(", "))
        self.assertEqual(listed, parameter_table())

    def test_modules(self):
        """The rows of ARCHITECTURE.md that exist are the folders of src/, with their DEPS; pure ones have a star."""
        existing, starred = {}, set()
        for row in table_rows(text_of(ROOT / "ARCHITECTURE.md")):
            if len(row) == 4 and row[3] in ("exists", "planned"):
                for name in row[0].split(", "):
                    if row[0].endswith("*"):
                        starred.add(name.rstrip("*"))
                    if row[3] == "exists":
                        existing[name.rstrip("*")] = [] if row[2] == "-" else row[2].split()
        real = {}
        for path in (ROOT / "src").glob("*/CMakeLists.txt"):
            [(name, rest)] = re.findall(r"iez_module\((\w+)(.*)\)", path.read_text(encoding="utf-8"), flags=re.DOTALL)
            deps = re.search(r"\bDEPS((?:\s+[a-z_]+)*)", rest)
            real[name] = deps[1].split() if deps else []
        self.assertEqual(existing, real)
        [pure] = re.findall(r"^PURE = \(([^)]*)\)", (ROOT / "tools/check_layers.py").read_text(encoding="utf-8"), flags=re.MULTILINE)
        self.assertEqual(starred, set(re.findall(r"\w+", pure)))

    def test_papers(self):
        """Whoever uses a paper's method or figure says which it is, and the page of papers has it."""
        papers = " ".join(text_of(ROOT / "docs/guide/papers.md").replace("*", "").split())
        for section, title in (("placement", "Resource contention aware load balancing for large-scale parallel file systems"),
                               ("collective", "Lustre ADIO collective write driver")):
            said = subprocess.run([IEZ, "repro", "--quick", "--only", section], capture_output=True, text=True, check=True).stdout
            self.assertIn(title, " ".join(said.split()))
            self.assertIn(title, papers)
        for page in ("README.md", *(f"docs/guide/{name}.md" for name in ("placement", "prediction", "contention", "collective", "simulator", "jobs",
                                                                         "reproduction"))):
            self.assertIn("papers.md)", text_of(ROOT / page), page)

    def test_folders_and_files_that_are_named_exist(self):
        for page in PAGES:
            for name in re.findall(r"`((?:apps|bench|cmake|docs|examples|src|tests|tools)/[\w./-]*)`", text_of(page)):
                if "NAME" in name or "MODULE" in name or "TARGET" in name:
                    continue
                with self.subTest(page=page.name, name=name):
                    self.assertTrue((ROOT / name).exists())


if __name__ == "__main__":
    unittest.main()
