#!/usr/bin/env python3
"""`iez repro --quick`: the figures are there, the page is whole, two runs are equal, and what cannot be written leaves nothing."""

import html.parser
import json
import os
import pathlib
import re
import subprocess
import unittest

from folder_case import FolderCase
from page_probe import on_a_telephone

ROOT = pathlib.Path(os.environ.get("IEZ_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
IEZ = os.environ.get("IEZ", str(ROOT / "build/dev/apps/iez/iez"))
SECTIONS = ["congestion", "contention", "placement", "collective", "prediction"]
SECTION_KEYS = ["id", "title", "text", "constants", "rows", "tables"]
ROW_KEYS = ["what", "unit", "paper", "ours", "difference", "target", "holds", "kind", "note"]
VOID = {"meta", "br", "hr", "img", "link", "input"}


def repro(*arguments, **options):
    return subprocess.run([IEZ, "repro", *map(str, arguments)], capture_output=True, text=True, check=False, timeout=280,
                          stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"}, **options)


class Elements(html.parser.HTMLParser):
    """Opens and closes must match; links and scripts are noted."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.wrong = []
        self.tags = []
        self.loads = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.loads += [value for name, value in attrs if name in ("src", "href") and not (value or "").startswith("#")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


class Quick(FolderCase):
    """One run of everything for all that looks at it."""

    @classmethod
    def setUpClass(cls):
        cls.first = repro("--quick", "--json")
        assert cls.first.returncode == 0, cls.first.stderr
        cls.document = json.loads(cls.first.stdout)

    def rows(self, section):
        return next(one for one in self.document["sections"] if one["id"] == section)["rows"]

    def row(self, section, what):
        return next(row for row in self.rows(section) if row["what"] == what)

    def test_document(self):
        self.assertEqual(self.first.stderr, "")
        self.assertEqual(self.first.stdout.count("\n"), 1)
        self.assertEqual(list(self.document), ["quick", "published", "fitted", "unpublished", "bounded", "without_target", "sections"])
        self.assertIs(self.document["quick"], True)
        self.assertEqual([section["id"] for section in self.document["sections"]], SECTIONS)
        verdicts = []
        for section in self.document["sections"]:
            self.assertEqual(list(section), SECTION_KEYS)
            self.assertTrue(section["title"] and section["text"] and section["rows"], section["id"])
            for constant in section["constants"]:
                self.assertEqual(list(constant), ["name", "value", "origin"])
                self.assertRegex(constant["origin"], "^(published|fitted|assumed|read off|from)")
            for row in section["rows"]:
                self.assertEqual(list(row), ROW_KEYS)
                self.assertIn(row["kind"], ("fitted", "predicted", "computed", "bounded", "outside"))
                self.assertEqual(row["target"] == "", row["holds"] is None, row)
                self.assertEqual(row["kind"] == "outside", row["ours"] is None, row)
                if row["holds"] is False:
                    self.assertNotEqual(row["note"], "", row)
                if row["difference"] is not None:
                    self.assertAlmostEqual(row["difference"], row["ours"] / row["paper"] - 1, places=9)
                verdicts.append(row["holds"])
        tallies = [self.document[key] for key in ("published", "fitted", "unpublished", "bounded")]
        self.assertEqual(sum(tally["held"] for tally in tallies), verdicts.count(True))
        self.assertEqual(sum(tally["targets"] for tally in tallies), verdicts.count(True) + verdicts.count(False))
        self.assertEqual(self.document["without_target"], verdicts.count(None))
        self.assertEqual(self.document["bounded"], {"held": 4, "targets": 4})

    def test_the_allocator_of_the_source_is_shown_first_with_equal_loads(self):
        rows = [row for row in self.rows("placement") if ": paper-sequential" in row["what"]]
        self.assertEqual([round(row["ours"], 4) for row in rows[:4]], [1.0254, 1.0547, 1.0547, 1.1264])
        self.assertEqual([row["what"].endswith(", servers loaded 10, 16 and 19 %") for row in rows], [False] * 4 + [True] * 4)
        self.assertGreater(rows[4]["ours"], rows[0]["ours"])

    def test_what_must_hold(self):
        for what in ("FIX(8,1024)", "CC(60,1024)", "CC(25,1): credits after the first RPC"):
            row = self.row("congestion", what)
            self.assertEqual((row["kind"], row["holds"]), ("predicted", True), row)
        for row in self.rows("contention"):
            if row["what"].startswith(("D_inuse", "D_load")):
                self.assertIs(row["holds"], True, row)
        for row in self.rows("placement"):
            if row["what"].endswith(": balanced"):
                self.assertIs(row["holds"], True, row)

    def test_page_and_markdown_are_whole_and_the_same_twice(self):
        for name in ("one", "two"):
            result = repro("--quick", "--out", self.folder / name, "--no-header")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertEqual(sorted(os.listdir(self.folder / name)), ["index.html", "reproduction.md"])
        page, text = ((self.folder / "one" / name).read_bytes() for name in ("index.html", "reproduction.md"))
        self.assertEqual(page, (self.folder / "two/index.html").read_bytes())
        self.assertEqual(text, (self.folder / "two/reproduction.md").read_bytes())
        self.assertEqual(len(result.stdout.splitlines()), sum(len(self.rows(section)) for section in SECTIONS))

        elements = Elements()
        elements.feed(page.decode())
        self.assertEqual((elements.open, elements.wrong, elements.loads), ([], [], []))
        self.assertNotIn("script", elements.tags)
        self.assertGreaterEqual(elements.tags.count("svg"), 3)
        self.assertIn("prefers-color-scheme:dark", page.decode())
        self.assertTrue(page.endswith(b"</html>\n"))
        on_a_telephone(self, self.folder / "one/index.html")
        rows = sum(len(self.rows(section)) for section in SECTIONS)
        self.assertGreaterEqual(elements.tags.count("tr"), rows)
        self.assertGreaterEqual(len(re.findall(r"^\| ", text.decode(), flags=re.MULTILINE)), rows)
        for section in self.document["sections"]:
            self.assertIn(f"## {section['title']}\n", text.decode())


class Usage(FolderCase):
    def test_one_section(self):
        result = repro("--quick", "--only", "placement", "--json")
        self.assertEqual([section["id"] for section in json.loads(result.stdout)["sections"]], ["placement"])

    def test_an_unknown_section_is_named(self):
        result = repro("--quick", "--only", "placment")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("placment", result.stderr)
        self.assertIn("placement", result.stderr)
        self.assertEqual(result.stdout, "")

    def test_what_cannot_be_written_leaves_nothing(self):
        plain = self.file("plain", "x")
        for folder in (plain, plain / "below", self.folder / "no/such"):
            result = repro("--quick", "--only", "prediction", "--out", folder)
            self.assertIn(result.returncode, (1, 2), result.stderr)
            self.assertIn(str(folder), result.stderr)
            self.assertEqual(result.stdout, "")
        self.assertEqual(os.listdir(self.folder), ["plain"])
        self.assertEqual(plain.read_text(), "x")

    def test_a_page_that_cannot_replace_a_folder_leaves_nothing_half(self):
        (self.folder / "out/index.html").mkdir(parents=True)
        result = repro("--quick", "--only", "prediction", "--out", self.folder / "out")
        self.assertIn(result.returncode, (1, 2), result.stderr)
        self.assertEqual(os.listdir(self.folder / "out"), ["index.html"])
        self.assertTrue((self.folder / "out/index.html").is_dir())

    def test_an_existing_folder_keeps_what_else_is_there(self):
        self.file("out/other", "kept")
        result = repro("--quick", "--only", "prediction", "--out", f"{self.folder / 'out'}/")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(os.listdir(self.folder / "out")), ["index.html", "other", "reproduction.md"])


if __name__ == "__main__":
    unittest.main()
