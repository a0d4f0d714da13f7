#!/usr/bin/env python3
"""tools/setup among fakes: a PATH with an apt-get, a dpkg-query, an id and a sudo that only write down what they were asked."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SETUP = ROOT / "tools" / "setup"
BASH = shutil.which("bash")

# Knows what the file `installed` lists, and fails, like the real one, when asked for anything else. A removed package whose
# configuration is left is known, but not installed.
DPKG_QUERY = """
for package in "${@:4}"; do
  if grep -qx -- "$package" "$FAKES/installed"; then echo "$package installed"
  elif grep -qx -- "$package" "$FAKES/removed"; then echo "$package config-files"
  else echo "dpkg-query: no packages found matching $package" >&2; status=1; fi
done
exit "${status:-0}"
"""
APT_GET = """
echo "apt-get $* [$DEBIAN_FRONTEND]" >>"$FAKES/calls"
echo "chatter of apt"
if [[ " $* " == *" ${FAIL:-nothing} "* ]]; then echo "E: no such luck" >&2; exit 100; fi
if [[ " $* " == *" install "* && -z ${LIE-} ]]; then printf '%s\\n' "$@" >>"$FAKES/installed"; fi
"""
SUDO = """
echo "sudo $*" >>"$FAKES/calls"
if [[ -n ${SUDO_REFUSES-} ]]; then exit 1; fi
if [[ $1 == -v ]]; then exit 0; fi
if [[ $1 == -n ]]; then shift; fi
exec "$@"
"""


class Setup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.fakes = pathlib.Path(folder.name)
        self.path = self.fakes / "bin"
        self.path.mkdir()
        for tool in ("cat", "env", "grep", "mktemp", "rm", "true"):
            (self.path / tool).symlink_to(shutil.which(tool))
        for name in ("installed", "removed", "calls"):
            (self.fakes / name).touch()
        self.fake("dpkg-query", DPKG_QUERY)
        self.fake("apt-get", APT_GET)
        self.user(0)

    def fake(self, name, script):
        path = self.path / name
        path.write_text(f"#!{BASH}\n{script}", encoding="utf-8")
        path.chmod(0o755)

    def user(self, uid):
        self.fake("id", f"echo {uid}\n")

    def setup(self, *arguments, **environment):
        return subprocess.run(
            [BASH, str(SETUP), *arguments],
            env={"PATH": str(self.path), "FAKES": str(self.fakes), "TMPDIR": str(self.fakes), **environment},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)

    def install(self, *packages):
        (self.fakes / "installed").write_text("".join(f"{package}\n" for package in packages), encoding="utf-8")

    def calls(self):
        return (self.fakes / "calls").read_text(encoding="utf-8").splitlines()

    def listed(self, *groups):
        """The packages of some groups, in order, each once."""
        rows = [line.split("\t") for line in self.setup("--list").stdout.splitlines()]
        return list(dict.fromkeys(package for group, package, _ in rows if group in groups))

    def test_nothing_to_do(self):
        self.install(*self.listed("build", "test"))
        result = self.setup()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("nothing to do", result.stdout)
        self.assertEqual(self.calls(), [])

    def test_installs_what_is_missing_then_has_nothing_to_do(self):
        packages = self.listed("build", "test")
        self.install(*packages[:-2])
        first = self.setup()
        self.assertEqual((first.returncode, first.stderr), (0, ""))
        self.assertNotIn("chatter", first.stdout)
        self.assertIn(f"to run its tests: {' '.join(packages[-2:])}", first.stdout)
        update, install = self.calls()
        self.assertRegex(update, r"^apt-get .*\bupdate \[noninteractive\]$")
        self.assertIn(f" install -y --no-install-recommends {' '.join(packages[-2:])} [noninteractive]", install)
        second = self.setup()
        self.assertEqual(second.returncode, 0)
        self.assertIn("nothing to do", second.stdout)
        self.assertEqual(len(self.calls()), 2)

    def test_a_removed_package_is_missing(self):
        packages = self.listed("build")
        self.install(*packages[1:])
        (self.fakes / "removed").write_text(f"{packages[0]}\n", encoding="utf-8")
        self.assertEqual(self.setup("build").returncode, 0)
        self.assertIn(f" {packages[0]} [noninteractive]", self.calls()[-1])

    def test_one_line_a_group_and_no_package_twice(self):
        result = self.setup("--dry-run", "all")
        lines = [line for line in result.stdout.splitlines() if line.startswith("setup: to ")]
        words = [word for line in lines for word in line.split(": ", 2)[2].split()]
        self.assertEqual(len(words), len(set(words)))
        self.assertEqual(sorted(words), sorted(self.listed("build", "test", "lint", "bench", "coverage")))

    def test_dry_run_changes_nothing(self):
        for uid in (0, 1000):
            self.user(uid)
            result = self.setup("--dry-run", "build")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn(f"apt-get install -y {' '.join(self.listed('build'))}\n", result.stdout)
        self.assertEqual(self.calls(), [])

    def test_usage(self):
        for arguments in (["tests"], ["--frobnicate"], ["build", "nonsense"]):
            with self.subTest(arguments=arguments):
                result = self.setup(*arguments)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn(arguments[-1], result.stderr)
        self.assertEqual(self.calls(), [])
        self.assertEqual(self.setup("--help").returncode, 0)

    def test_neither_root_nor_sudo(self):
        self.user(1000)
        self.install(*self.listed("build")[2:])
        result = self.setup("build")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr.splitlines()[-1], f"apt-get install -y {' '.join(self.listed('build')[:2])}")
        self.assertEqual(self.calls(), [])

    def test_neither_is_needed_when_all_is_there(self):
        self.user(1000)
        self.install(*self.listed("build"))
        self.assertEqual(self.setup("build").returncode, 0)

    def test_through_sudo(self):
        self.user(1000)
        self.fake("sudo", SUDO)
        result = self.setup("build")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("sudo env DEBIAN_FRONTEND=noninteractive apt-get ", "\n".join(self.calls()))
        self.assertTrue(self.calls()[-1].endswith("[noninteractive]"))

    def test_sudo_that_refuses(self):
        self.user(1000)
        self.fake("sudo", SUDO)
        result = self.setup("build", SUDO_REFUSES="1")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr.splitlines()[-1], f"apt-get install -y {' '.join(self.listed('build'))}")
        self.assertFalse(any("apt-get" in call for call in self.calls()))

    def test_apt_fails(self):
        result = self.setup("build", FAIL="install")
        self.assertEqual(result.returncode, 1)
        self.assertIn("chatter of apt\nE: no such luck\n", result.stderr)
        self.assertNotIn("installed", result.stdout)

    def test_stale_package_lists_are_no_reason_to_stop(self):
        result = self.setup("build", FAIL="update")
        self.assertEqual(result.returncode, 0)
        self.assertIn("E: no such luck", result.stderr)

    def test_apt_lies(self):
        result = self.setup("build", LIE="1")
        self.assertEqual(result.returncode, 1)
        self.assertIn("not installed: g++", result.stderr)

    def test_not_debian(self):
        packages = " ".join(self.listed("build", "lint"))
        for tool in ("apt-get", "dpkg-query"):
            with self.subTest(tool=tool):
                (self.path / tool).rename(self.fakes / tool)
                result = self.setup("build", "lint")
                self.assertEqual(result.returncode, 1)
                self.assertIn(packages, result.stderr)
                (self.fakes / tool).rename(self.path / tool)

    def test_leaves_no_files_behind(self):
        before = sorted(self.fakes.iterdir())
        self.setup("build", FAIL="install")
        self.assertEqual(sorted(self.fakes.iterdir()), before)

    def test_the_page_of_dependencies_lists_the_same(self):
        page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", page, re.MULTILINE)
        expected = {}
        for line in self.setup("--list").stdout.splitlines():
            group, package, _ = line.split("\t")
            expected.setdefault(package, []).append(group)
        self.assertEqual({package: groups.split() for package, groups in rows}, expected)


if __name__ == "__main__":
    unittest.main()
