#!/usr/bin/env python3
"""`iez plan`: what is compiled is what a reader written from the format page finds; bad plans are refused in words."""

import json
import os
import pathlib
import random
import re
import resource
import stat
import subprocess
import sys
import unittest

from folder_case import FolderCase

ROOT = pathlib.Path(os.environ.get("IEZ_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
IEZ = os.environ.get("IEZ", str(ROOT / "build/dev/apps/iez/iez"))
DEMO = ROOT / "examples/plans/demo.csv"
PAGE = ROOT / "docs/formats/plan.md"
EXAMPLE = ROOT / "tests/fuzz/corpus/plan/example"
HEAD = "name,stripe_size,stripe_count,osts\n"


def run(*arguments, **options):
    return subprocess.run([IEZ, "plan", *map(str, arguments)], check=False, timeout=60, env={**os.environ, "LC_ALL": "C"},
                          **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True,
                             **({} if "input" in options else {"stdin": subprocess.DEVNULL}), **options})


class Case(FolderCase):
    def text(self, *arguments, **options):
        """What a command prints that succeeds silently."""
        result = run(*arguments, **options)
        self.assertEqual((result.returncode, result.stderr), (0, ""), arguments)
        return result.stdout

    def document(self, *arguments, **options):
        return json.loads(self.text(*arguments, "--json", **options))

    def compiled(self, csv, name="x.iezplan"):
        path = self.folder / name
        self.text("compile", self.file("x.csv", csv), "-o", path)
        return path

    def match(self, plan, *names):
        return self.document("show", plan, "--match", *names)["matches"]

    def assert_refused(self, result, status, *fragments):
        """One line that says it, and nothing on standard output."""
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual(result.stdout or "", "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for fragment in fragments:
            self.assertIn(str(fragment), result.stderr)


class Plans(Case):
    def test_demo(self):
        path = self.folder / "demo.iezplan"
        made = self.document("compile", DEMO, "-o", path)
        self.assertEqual((made["files"], made["rules"], made["bytes"]), (2, 4, path.stat().st_size))
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o644)
        self.assertEqual(sorted(entry.name for entry in self.folder.iterdir()), ["demo.iezplan"])
        shown = self.document("show", path)
        self.assertEqual([entry["kind"] for entry in shown["entries"]], ["pattern", "pattern", "spread", "leave", "file", "file"])
        self.assertEqual(shown["id"], made["id"])
        self.assertIn("... and 3 more", self.text("show", path, "--limit", 3))
        self.assertEqual(len(self.text("show", path, "--no-header").splitlines()), 6)
        self.assertIn("whole: 2 files, 4 rules", self.text("check", path))
        self.assertTrue(self.document("check", path)["whole"])
        rows = self.match(path, "/scratch/mesh.h5", "/scratch/ckpt.10.7", "/scratch/a/field.00003.h5", "/scratch/new", "/scratch/logs/x",
                          "/home/x", "/scratch/restart.dat.part")
        self.assertEqual([row["by"] for row in rows], ["file", "pattern", "pattern", "spread", "leave", "nothing", "file"])
        self.assertEqual([row["layout"] and row["layout"]["components"][0]["osts"] for row in rows][:3],
                         [[0, 1, 2, 3], [14, 0], [9, 10, 11, 12, 13, 14, 0, 1]])
        self.assertEqual((rows[1]["rule"], rows[1]["turn"], rows[1]["turns"]), ("/scratch/ckpt.{step}.{rank}", 7, 15))
        self.assertEqual(rows[6]["final_name"], "/scratch/restart.dat")
        self.assertTrue(rows[6]["layout"]["components"][0]["overstriped"])
        table = self.text("show", path, "--match", "/scratch/ckpt.10.7", "/home/x")
        self.assertRegex(table, r"ckpt\.10\.7 +pattern +/scratch/ckpt\.\{step\}\.\{rank\} +8 of 15 +2 stripes of 1\.00 MiB on OST 14,0\n")
        self.assertRegex(table, r"/home/x +nothing +- +- +not planned\n")

    def test_from_standard_input(self):
        path = self.folder / "p"
        self.text("compile", "-", "-o", path, input=HEAD + "/a,1M,,7\n")
        self.assertEqual(self.match(path, "/a")[0]["layout"]["components"][0]["osts"], [7])

    def test_names_of_all_bytes(self):
        rng = random.Random(1)
        names = {b"/" + bytes(rng.choice(range(1, 256)) for _ in range(rng.randrange(1, 60))) for _ in range(300)}
        names = sorted(name for name in names if not name.endswith(b"/") and not re.search(rb"[{}]", name))
        names += [b"/line\nbreak", b"/" + b"n" * 4095, b"/a,\"b\""]
        csv = HEAD.encode() + b"".join(b'"%s",1M,,%d\n' % (name.replace(b'"', b'""'), i) for i, name in enumerate(names))
        path = self.compiled(csv)
        for i, name in enumerate(names):
            if i % 20 == 0 or i > 290:
                rows = json.loads(run("show", path, "--json", "--match", os.fsdecode(name), text=False).stdout.decode())["matches"]
                self.assertEqual((rows[0]["by"], rows[0]["layout"]["components"][0]["osts"]), ("file", [i]), name)
        self.text("check", path)

    def test_the_reader_of_the_format_page(self):
        (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)

        def read(path, name):
            result = subprocess.run([sys.executable, "-c", code, path, name], capture_output=True, text=True, check=False, timeout=60)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            return result.stdout

        self.assertEqual(read(EXAMPLE, "/scratch/a"), "1048576 3 1\n")
        self.assertEqual(read(EXAMPLE, "/scratch/b"), "")
        path = self.compiled(HEAD + "".join(f"/f.{i},{64 + 64 * i}K,,{i} {2 * i + 1}\n" for i in range(200)))
        for i in range(0, 200, 23):
            self.assertEqual(read(path, f"/f.{i}"), f"{65536 * (i + 1)} {i} {2 * i + 1}\n")
        self.assertEqual(read(path, "/f.200"), "")

    def test_the_example_of_the_format_page(self):
        data = EXAMPLE.read_bytes()
        lines, zeros = [], False
        for at in range(0, len(data), 16):
            part = data[at:at + 16]
            if at > 0 and not any(part):
                lines += [] if zeros else ["*"]
                zeros = True
                continue
            zeros = False
            lines.append(f"{at:04x}  {part.hex(' '):<47}  {''.join(chr(b) if 32 <= b < 127 else '.' for b in part)}")
        lines.append(f"{len(data):04x}")
        self.assertIn("```\n" + "\n".join(lines) + "\n```\n", PAGE.read_text(encoding="utf-8"))
        self.text("check", EXAMPLE)

    def test_many_files(self):
        path = self.compiled(HEAD + "".join(f"/scratch/step.{i // 100:05}/rank.{i % 100:05},1M,,{i % 480} {(i + 7) % 480}\n" for i in range(20000)))
        info = self.document("check", path)
        self.assertEqual(info["files"], 20000)
        self.assertLess(info["bytes_per_file"], 64)


class Freestanding(Case):
    def test_the_lookup_needs_libc_only(self):
        """It goes into a preload library."""
        known = {"__errno_location", "memcmp", "memcpy", "memmove", "memset", "__stack_chk_fail", "_GLOBAL_OFFSET_TABLE_"}
        for level in ("-O0", "-O2"):
            needed, given = set(), set()
            for name in ("plan_lookup", "packed_layout"):
                made = self.folder / f"{name}.o"
                subprocess.run([os.environ.get("CXX", "c++"), "-std=c++23", "-fno-exceptions", "-fno-rtti", "-fPIC", level, "-I", ROOT / "src",
                                "-c", ROOT / f"src/plan/{name}.cpp", "-o", made], check=True, timeout=120)
                for option, names in (("-u", needed), ("--defined-only", given)):
                    listing = subprocess.run(["nm", option, made], check=True, timeout=60, capture_output=True, text=True).stdout
                    names |= {line.split()[-1].split("@")[0] for line in listing.splitlines() if line.strip()}
            self.assertIn("memcmp", needed)
            self.assertEqual(needed - given - known, set(), level)


class BadInput(Case):
    def test_csv(self):
        for csv, *fragments in (("", "x.csv: found an empty file"), (HEAD + "a,,,1\n", "x.csv:2: column name", "absolute"),
                                (HEAD + "/a,3,,1\n", "column stripe_size"), (HEAD + "/a,,2,1\n", "column stripe_count", "expected 1"),
                                (HEAD + "/{rank,,,1\n", "x.csv:2: column name: found a single '{'"),
                                (HEAD + "/a,,,1\n/b,,,1\n/a,,,2\n", "x.csv: found '/a' twice, in lines 2 and 4"),
                                (HEAD + "/{step},,,1\n/{rank},,,1\n", "x.csv:3: ", "the same names as '/{step}' in lines 2"),
                                ("name,ost\n", "unknown column 'ost'", "did you mean 'osts'?"),
                                (HEAD + "/\033[1m,,,x\n", "column osts")):
            with self.subTest(csv=csv):
                old = self.file("old.iezplan", "kept")
                self.assert_refused(run("compile", self.file("x.csv", csv), "-o", old), 1, *fragments)
                self.assertEqual(old.read_text(encoding="utf-8"), "kept")
                self.assertEqual(len(list(self.folder.iterdir())), 2)

    def test_files_that_cannot_be_had(self):
        csv = self.file("x.csv", HEAD + "/a,,,1\n")
        self.assert_refused(run("compile", self.folder / "none.csv", "-o", self.folder / "p"), 1, "none.csv", "No such file")
        self.assert_refused(run("compile", csv, "-o", self.folder / "none/p"), 1, "none/p: cannot create the plan", "No such file")
        self.assert_refused(run("compile", csv, "-o", "/dev/null"), 2, "/dev/null", "no regular file")
        self.assert_refused(run("show", self.folder / "none"), 1, "none", "No such file")
        self.assert_refused(run("show", csv), 1, "x.csv: found no plan file")
        self.assert_refused(run("show", self.folder), 1, str(self.folder))
        for arguments in (("compile", csv), ("show",), ("check",), ("show", csv, "--match", "/a", "--limit", 3)):
            self.assertEqual(run(*arguments).returncode, 2)

    def test_a_full_disk_leaves_nothing(self):
        csv = self.file("x.csv", HEAD + "".join(f"/f{i},1M,,1\n" for i in range(2000)))
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # noqa: E731
        result = run("compile", csv, "-o", self.folder / "p", preexec_fn=limit)
        self.assertNotEqual(result.returncode, 0)
        self.assertFalse((self.folder / "p").exists())

    def test_damage(self):
        path = self.compiled(DEMO.read_text(encoding="utf-8"))
        data = path.read_bytes()
        rng = random.Random(3)
        for size in sorted(rng.sample(range(len(data)), 12)):
            bad = self.file("bad", data[:size])
            self.assert_refused(run("check", bad), 1, bad, "found no plan file" if size < 256 else "damaged")
        for at in sorted(rng.sample(range(len(data)), 40)):
            bad = self.file("bad", data[:at] + bytes([data[at] ^ 4]) + data[at + 1:])
            with self.subTest(at=at):
                self.assert_refused(run("check", bad), 1, bad)
                result = run("show", bad, "--json", "--match", "/scratch/ckpt.10.7")
                if result.returncode == 0:
                    self.assertEqual(json.loads(result.stdout)["matches"][0]["turn"], 7)
                else:
                    self.assert_refused(result, 1, bad)
        other = self.file("bad", data[:12] + b"\2\0" + data[14:])
        self.assert_refused(run("show", other), 1, "another version", "compile it again")


if __name__ == "__main__":
    unittest.main()
