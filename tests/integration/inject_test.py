#!/usr/bin/env python3
"""iez inject: what is seen of programs that are there, and of some that are made here."""

import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
IEZ = os.environ.get("IEZ", str(ROOT / "build/dev/apps/iez/iez"))
CORPUS = ROOT / "tests/fuzz/corpus/program_elf"


def run(*arguments, **options):
    return subprocess.run([IEZ, "inject", *map(str, arguments)], capture_output=True, text=True, check=False, timeout=60,
                          stdin=subprocess.DEVNULL, **options)


class Inject(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def judged(self, program, **options):
        result = run("--json", program, **options)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def made(self, name, content, mode=0o755):
        path = self.folder / name
        if isinstance(content, pathlib.Path):
            shutil.copyfile(content, path)
        else:
            path.write_text(content, encoding="utf-8")
        path.chmod(mode)
        return path

    def test_ordinary_program(self):
        document = self.judged("dd")
        self.assertEqual((document["given"], document["mpi"], document["hdf5"]), ("dd", None, False))
        self.assertTrue(document["program"].endswith("/dd"))
        self.assertNotEqual(document["seen"], "none")
        self.assertEqual(document["seen"], "part" if document["findings"] else "all")

    def test_static_go(self):
        document = self.judged(self.made("tool", CORPUS / "static-go"))
        self.assertEqual(document["seen"], "none")
        self.assertEqual([finding["what"] for finding in document["findings"]], ["static program", "Go program"])
        text = run(self.folder / "tool").stdout
        self.assertIn("sees nothing of it", text)
        self.assertIn("only a loader reads LD_PRELOAD", text)
        self.assertNotIn("LD_PRELOAD=", text)

    @unittest.skipIf(os.getuid() != 0, "only root gives a file away")
    def test_setuid(self):
        program = self.made("tool", CORPUS / "dynamic")
        os.chown(program, 1, 1)
        program.chmod(0o755 | stat.S_ISUID)
        document = self.judged(program)
        self.assertEqual((document["seen"], document["findings"][0]["what"]), ("none", "setuid"))

    def test_scripts_are_judged_by_their_interpreter(self):
        inner = self.made("inner", f"#!{sys.executable} -u\n")
        outer = self.made("outer", f"#!{inner}\n")
        document = self.judged(outer)
        self.assertEqual(document["scripts"], [str(outer), str(inner)])
        self.assertEqual(document["program"], sys.executable)
        by_env = self.made("by_env", "#!/usr/bin/env -S A=1 sh -e\n")
        self.assertTrue(self.judged(by_env)["program"].endswith("/sh"))
        self.assertIn("What a script starts is judged by itself", run(outer).stdout)

    def test_what_cannot_be_judged(self):
        loop = self.folder / "loop"
        self.made("loop", f"#!{loop}\n")
        cut = self.folder / "cut"
        cut.write_bytes((CORPUS / "dynamic").read_bytes()[:40])
        cut.chmod(0o755)
        for program, status, message in (
            (self.folder / "none", 1, "none"),
            (self.folder, 1, "no regular file"),
            (self.made("text", "hello\n"), 1, "neither an ELF program nor a script"),
            (self.made("empty", ""), 1, "neither an ELF program nor a script"),
            (self.made("data", "#!/bin/sh\n", 0o644), 1, "not executable"),
            (loop, 1, "more than 5 scripts in a row"),
            (cut, 1, "header is cut"),
            ("no-such-program-anywhere", 1, "in PATH"),
            ("", 2, "PROGRAM is empty"),
        ):
            with self.subTest(program=program):
                result = run(program)
                self.assertEqual((result.returncode, result.stdout), (status, ""), result.stderr)
                self.assertIn(message, result.stderr)

    def test_library_is_found_or_missed(self):
        (self.folder / "libiez.so").write_bytes(b"")
        environment = {**os.environ, "IEZ_LIBDIR": str(self.folder)}
        self.assertEqual(self.judged("sh", env=environment)["ld_preload"], str(self.folder / "libiez.so"))


if __name__ == "__main__":
    unittest.main()
