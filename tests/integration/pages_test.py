#!/usr/bin/env python3
"""Pages that a new user follows, word for word: every `sh` block of README.md and docs/guide/try-it.md, one after the other, in a home that is
empty and a checkout that is built. A block that is to fail says so by a comment; none does.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("IEZ_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
IEZ = pathlib.Path(os.environ.get("IEZ", ROOT / "build/dev/apps/iez/iez")).resolve()
LIMIT = 240


@unittest.skipUnless(os.path.exists("/dev/fuse") and shutil.which("fusermount3"), "FUSE is not there")
class Pages(unittest.TestCase):
    def follow(self, page):
        text = (ROOT / page).read_text(encoding="utf-8")
        blocks = re.findall(r"(?ms)^```sh\n(.*?)^```$", text)
        self.assertTrue(blocks)
        with tempfile.TemporaryDirectory(prefix="iez-pages-") as folder:
            base = pathlib.Path(folder)
            home, checkout = base / "home", base / "checkout"
            home.mkdir()
            (checkout / "build").mkdir(parents=True)
            (checkout / "build/release").symlink_to(IEZ.parents[2])  # whatever build is tested
            environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}
            script = "set -e -o pipefail\n" + "\n".join(f"echo '=== {i}'\n{block}" for i, block in enumerate(blocks))
            try:
                result = subprocess.run(["bash", "-c", script], cwd=checkout, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                                        text=True, check=False, timeout=LIMIT)
            finally:
                subprocess.run([IEZ, "lab", "down"], env=environment, capture_output=True, check=False, timeout=60)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout.split("=== ")[1:], result.stderr

    def test_readme(self):
        parts, said = self.follow("README.md")
        self.assertRegex(parts[0], r"(?s)OST.*\b3\b.*\b11\b")
        self.assertIn("1 file, 8.39 MB written", said)

    @unittest.skipIf(os.environ.get("IEZ_SANITIZED") == "1", "nothing can be preloaded into a program with the address sanitizer")
    def test_try_it(self):
        parts, said = self.follow("docs/guide/try-it.md")
        first, second = [float(cost) for cost in re.findall(r"48 files.*OSTCost (\d\.\d+)", said)]
        self.assertIn("48 of 48 large ones predicted, 48 placed", said)
        self.assertLess(second, 1.1)
        self.assertLess(second, first)
        told = [float(cost) for cost in re.findall(r"OSTCost (\d\.\d+)", parts[0])]
        self.assertEqual(len(told), 2, parts[0])
        self.assertLess(told[1], told[0])
        self.assertRegex(said, r"iez run: write \d\.\d\dx the default's rate|not clear yet")
        self.assertEqual(len(parts), 2)


if __name__ == "__main__":
    unittest.main()
