#!/usr/bin/env python3
"""An installed iez is usable by a stranger: find_package, compile, link, run; even when it was moved after the installation.

usage: consumer_test.py BUILD_DIR CMAKE
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

CONSUMER = pathlib.Path(__file__).resolve().parents[1] / "consumer"


def cache(build):
    """The variables of a CMake build folder."""
    variables = {}
    for line in (build / "CMakeCache.txt").read_text(encoding="utf-8").splitlines():
        name, separator, value = line.partition("=")
        if separator and ":" in name and not line.startswith(("#", "//")):
            variables[name.split(":", 1)[0]] = value
    return variables


def run(*command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=300)
    if result.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\nexit status {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


class Consumer(unittest.TestCase):
    build: pathlib.Path
    cmake: str

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.work = pathlib.Path(folder.name)
        staged = cls.work / "staged"
        run(cls.cmake, "--install", cls.build, "--prefix", staged)
        cls.prefix = staged.rename(cls.work / "prefix")

        settings = cache(cls.build)
        cls.source = settings["CMAKE_HOME_DIRECTORY"]
        # A library that was built with a sanitizer or for coverage needs its run-time library at the consumer's link.
        link = ["--coverage"] if settings.get("IEZ_COVERAGE") == "ON" else []
        if settings.get("IEZ_SANITIZE"):
            link.append(f"-fsanitize={settings['IEZ_SANITIZE']}")
        cls.binary = cls.work / "build"
        run(cls.cmake, "-S", CONSUMER, "-B", cls.binary, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={cls.prefix}",
            f"-DCMAKE_CXX_COMPILER={settings['CMAKE_CXX_COMPILER']}", f"-DCMAKE_EXE_LINKER_FLAGS={' '.join(link)}",
            "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
        run(cls.cmake, "--build", cls.binary)

    def test_it_runs(self):
        self.assertEqual(run(self.binary / "consumer", "1.5 GiB"), "1.61 GB: cost 2\n")

    def test_our_flags_are_not_inherited(self):
        commands = json.loads((self.binary / "compile_commands.json").read_text(encoding="utf-8"))
        for entry in commands:
            flags = [word for word in entry["command"].split() if word.startswith(("-W", "-fsanitize", "--coverage", "-O"))]
            self.assertEqual(flags, [])

    def test_headers_come_from_the_installation(self):
        command = (self.binary / "compile_commands.json").read_text(encoding="utf-8")
        self.assertIn(f"{self.prefix}/include/iez", command)
        self.assertNotIn(f"{self.source}/src", command)

    def test_the_package_names_neither_source_nor_build(self):
        files = sorted(self.prefix.rglob("*.cmake"))
        self.assertTrue(files)
        for file in files:
            text = file.read_text(encoding="utf-8")
            for place in (self.source, str(self.build), str(self.work)):
                self.assertNotIn(place, text, file.name)

    def test_jobs_use_the_engine_beside_the_program(self):
        program, rows = self.prefix / "bin/iez", self.work / "rows.csv"
        run(program, "jobs", "synth", "--jobs", "20", "--output", rows)
        result = subprocess.run([str(program), "jobs", "ingest", str(rows), "--store", str(self.work / "store")], capture_output=True, text=True,
                                check=True, timeout=300, env={**os.environ, "LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(self.work / "loaded")})
        self.assertIn("20 added", result.stdout)
        loaded = "".join(path.read_text(encoding="utf-8", errors="replace") for path in self.work.glob("loaded.*"))
        engines = set(re.findall(r"calling init: (\S*libduckdb\S*)", loaded))
        self.assertEqual([pathlib.Path(engine).is_relative_to(self.prefix) for engine in engines], [True], engines)

    def test_no_test_is_installed(self):
        strangers = [str(file) for file in self.prefix.rglob("*") if file.stem.endswith(("_test", "gtest", "gmock"))]
        self.assertEqual(strangers, [])


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: consumer_test.py BUILD_DIR CMAKE")
    Consumer.build = pathlib.Path(sys.argv[1]).resolve()
    Consumer.cmake = sys.argv[2]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
