#!/usr/bin/env python3
"""iez bench loop --case: programs by default and placed on a lab, what is told of them, and that nothing is left."""

import json
import os
import pathlib
import shutil
import subprocess
import unittest

from folder_case import FolderCase

ROOT = pathlib.Path(__file__).resolve().parents[2]
IEZ = os.environ.get("IEZ", str(ROOT / "build/dev/apps/iez/iez"))
CAN_MOUNT = os.path.exists("/dev/fuse") and shutil.which("fusermount3") is not None


@unittest.skipUnless(CAN_MOUNT, "no /dev/fuse")
class BenchLoop(FolderCase):
    def bench(self, *words):
        result = subprocess.run([IEZ, "bench", "loop", "--quick", *words], env={**os.environ, "TMPDIR": str(self.folder)}, capture_output=True,
                                text=True, check=False, timeout=240, stdin=subprocess.DEVNULL)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])
        return result

    def test_cases(self):
        names = ("4-steps", "shared", "failing", "restart")
        result = self.bench("--json", *(word for name in names for word in ("--case", name)))
        figures = {figure["name"]: figure for figure in json.loads(result.stdout)["figures"]}
        self.assertEqual(list(figures), ["loop.never_slower", "loop.steps_gain", "loop.shared_gain"])
        cases = figures["loop.never_slower"]["cases"]
        self.assertEqual([case["case"] for case in cases], list(names))
        for case in cases:
            with self.subTest(case=case["case"]):
                for way in ("default", "placed"):
                    self.assertEqual(case[way]["runs"], 1)
                    self.assertGreater(case[way]["median_s"], 0)
                self.assertAlmostEqual(case["ratio"], case["default"]["median_s"] / case["placed"]["median_s"], places=6)
                self.assertTrue(case["said"])
                self.assertIn(case["about"], result.stderr)
        self.assertEqual(figures["loop.never_slower"]["value"], min(case["ratio"] for case in cases))
        self.assertEqual(figures["loop.shared_gain"]["value"], cases[1]["ratio"])
        self.assertIsNone(figures["loop.steps_gain"]["value"])

    def test_table(self):
        text = self.bench("--case", "small-files").stdout
        self.assertRegex(text, r"(?m)^loop.never_slower: its cases$")
        self.assertRegex(text, r"(?m)^small-files +\d+\.\d\d \(\d+\.\d\d\.\.\d+\.\d\d\)")


if __name__ == "__main__":
    unittest.main()
