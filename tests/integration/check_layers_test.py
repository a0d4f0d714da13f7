#!/usr/bin/env python3
"""tools/check_layers.py on small trees: a clean one passes, and each kind of decay is named with its file and line."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_layers.py"

CLEAN_LAYERS = "base:\nmodel:base\nflow:base\nlustre:model\n"
CLEAN_TREE = {
    "src/base/result.hpp": "#pragma once\n#include <expected>\n#include <sys/types.h>\n",
    "src/base/log.hpp": "#pragma once\n#include <string>\n",
    "src/base/log.cpp": '#include "base/log.hpp"\n#include <fmt/format.h>\n',
    "src/model/cluster.hpp": '#pragma once\n#include <vector>\n#include "base/result.hpp"\n',
    "src/flow/network.hpp": '#pragma once\n#include "base/result.hpp"\n',
    "src/lustre/stats.cpp": '#include <fcntl.h>\n#include <thread>\n#include "base/log.hpp"\n#include "model/cluster.hpp"\n',
}


class CheckLayers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def check(self, changes=None, layers=CLEAN_LAYERS, arguments=()):
        """Runs the tool on the clean tree with some files changed (None: removed)."""
        for name, text in {**CLEAN_TREE, **(changes or {})}.items():
            path = self.root / name
            if text is None:
                path.unlink(missing_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        (self.root / "layers.txt").write_text(layers, encoding="utf-8")
        command = [sys.executable, str(TOOL), "--layers", str(self.root / "layers.txt"), "--root", str(self.root), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    def assert_passes(self, *arguments, **keywords):
        result = self.check(*arguments, **keywords)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result

    def assert_fails(self, expected, *arguments, **keywords):
        """Each of the expected texts is in a finding, and there are no others."""
        result = self.check(*arguments, **keywords)
        findings = result.stderr.splitlines()
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(len(findings), len(expected), result.stderr)
        for text in expected:
            self.assertTrue(any(text in finding for finding in findings), f"{text!r} not in:\n{result.stderr}")

    def test_a_clean_tree_passes(self):
        self.assertEqual(self.assert_passes().stdout, "")

    def test_stranger(self):
        self.assert_fails(
            ['src/model/cluster.hpp:2: includes "flow/network.hpp", but model does not depend on flow: add flow to DEPS'],
            {"src/model/cluster.hpp": '#include "base/result.hpp"\n#include "flow/network.hpp"\n'},
        )

    def test_what_is_reached_through_a_dependency_is_no_stranger(self):
        self.assert_passes({"src/lustre/more.cpp": '#include "base/result.hpp"\n'})

    def test_unit_tests_are_no_exception_for_strangers(self):
        self.assert_fails(["src/model/cluster_test.cpp:1: "], {"src/model/cluster_test.cpp": '#include "flow/network.hpp"\n'})

    def test_angle_brackets_do_not_hide_a_stranger(self):
        self.assert_fails(["src/model/extra.cpp:1: "], {"src/model/extra.cpp": "#include <flow/network.hpp>\n"})

    def test_an_include_that_names_no_module(self):
        self.assert_fails(['src/base/extra.cpp:1: includes "result.hpp", which names no module'],
                          {"src/base/extra.cpp": '#include "result.hpp"\n'})

    def test_cycle_of_includes(self):
        self.assert_fails(
            ["src/base/extra.cpp:2: includes \"lustre/stats.hpp\", but base does not depend on lustre",
             "src/base/extra.cpp:2: includes \"lustre/stats.hpp\", part of the cycle base -> lustre -> base",
             "src/lustre/stats.cpp:3: includes \"base/log.hpp\", part of the cycle base -> lustre -> base"],
            {"src/base/extra.cpp": '\n  #  include "lustre/stats.hpp"\n'},
        )

    def test_cycle_of_declarations(self):
        result = self.check(layers="base:lustre\nmodel:base\nflow:base\nlustre:model\n")
        self.assertEqual(result.returncode, 1)
        self.assertIn("declared dependencies form a cycle, base -> lustre -> model -> base", result.stderr)

    def test_a_module_that_depends_on_itself(self):
        result = self.check(layers="base:base\nmodel:base\nflow:base\nlustre:model\n")
        self.assertEqual(result.returncode, 1)
        self.assertIn("cycle, base -> base", result.stderr)

    def test_unused_dependency(self):
        self.assert_fails(
            ["layers.txt: model declares flow, but nothing in src/model includes it"],
            layers="base:\nflow:base\nmodel:base,flow\nlustre:model\n",
        )

    def test_a_dependency_that_only_leads_to_another_is_used(self):
        self.assert_passes({"src/lustre/stats.cpp": '#include "base/log.hpp"\n'})

    def test_a_dependency_that_leads_where_another_leads_is_unused(self):
        self.assert_fails(
            ["lustre declares flow,"],
            {"src/lustre/stats.cpp": '#include "base/log.hpp"\n#include "model/cluster.hpp"\n'},
            layers="base:\nmodel:base\nflow:base\nlustre:model,flow\n",
        )

    def test_outside(self):
        for folder in ("apps", "bench", "tests"):
            for target in (f'"{folder}/x.hpp"', f"<{folder}/x.hpp>", f'"../../{folder}/x.hpp"'):
                with self.subTest(target=target):
                    self.assert_fails([f"src/base/extra.cpp:1: includes {target}, but src/ must not use apps, bench, tests"],
                                      {"src/base/extra.cpp": f"#include {target}\n"})

    def test_folder_without_row(self):
        self.assert_fails(["src/jobs: no row in the layers"], {"src/jobs/report.hpp": "#pragma once\n"})

    def test_row_without_folder(self):
        self.assert_fails(["layers.txt: jobs has a row but no folder src/jobs"], layers=CLEAN_LAYERS + "jobs:\n")

    def test_dependency_without_row(self):
        self.assert_fails(["layers.txt: lustre depends on zebra, which has no row"],
                          layers="base:\nmodel:base\nflow:base\nlustre:model,zebra\n")

    def test_file_beside_the_modules(self):
        self.assert_fails(["src/stray.hpp:1: belongs to no module"], {"src/stray.hpp": "#pragma once\n"})

    def test_third_party_in_a_header(self):
        for target in ("fmt/format.h", "sqlite3.h", "Eigen/Dense", "zmq.hpp", "gtest/gtest.h"):
            with self.subTest(target=target):
                self.assert_fails([f"src/base/extra.hpp:2: includes <{target}>, but third-party headers stay in .cpp files"],
                                  {"src/base/extra.hpp": f"#pragma once\n#include <{target}>\n"})

    def test_third_party_in_a_source_passes(self):
        self.assert_passes({"src/model/extra.cpp": "#include <fmt/format.h>\n"})

    def test_system_headers_in_a_header_pass(self):
        targets = ("sys/xattr.h", "linux/fs.h", "unistd.h", "stdint.h")
        self.assert_passes({"src/base/extra.hpp": "".join(f"#include <{target}>\n" for target in targets)})

    def test_impure_headers_in_a_pure_module(self):
        cases = {
            "input/output": ("<fstream>", "<iostream>", "<cstdio>", "<filesystem>"),
            "threads": ("<thread>", "<mutex>", "<atomic>", "<pthread.h>"),
            "a clock": ("<ctime>", "<sys/time.h>", '"base/clock.hpp"'),
            "the operating system": ("<unistd.h>", "<sys/socket.h>"),
            "the log": ('"base/log.hpp"',),
        }
        for module in ("model", "flow"):
            name = f"src/{module}/extra.cpp"
            for brings, target in [(brings, target) for brings, targets in cases.items() for target in targets]:
                with self.subTest(module=module, target=target):
                    self.assert_fails([f"{name}:1: includes {target}, but {module} is pure and must not use {brings}: "],
                                      {name: f"#include {target}\n"})
            (self.root / name).unlink()

    def test_clock_read_in_a_pure_module(self):
        self.assert_fails(["src/model/extra.cpp:2: model is pure and must not read a clock (steady_clock::now)"],
                          {"src/model/extra.cpp": "#include <chrono>\nauto t = std::chrono::steady_clock::now();\n"})

    def test_pure_module_on_an_impure_one(self):
        self.assert_fails(['src/flow/extra.cpp:1: includes "lustre/stats.hpp", but flow is pure and lustre is not'],
                          {"src/flow/extra.cpp": '#include "lustre/stats.hpp"\n'},
                          layers="base:\nmodel:base\nflow:base,lustre\nlustre:model\n")

    def test_tests_of_a_pure_module_may_read_files(self):
        text = '#include <fstream>\n#include <gtest/gtest.h>\n#include "base/log.hpp"\n'
        self.assert_passes({"src/model/cluster_test.cpp": text})

    def test_support_of_tests_is_for_tests(self):
        support = {"src/model/model_test_support.hpp": '#include <gtest/gtest.h>\n#include <fstream>\n'}
        self.assert_passes({**support, "src/model/cluster_test.cpp": '#include "model/model_test_support.hpp"\n'})
        self.assert_fails(['src/model/extra.cpp:1: includes "model/model_test_support.hpp", which is for tests'],
                          {**support, "src/model/extra.cpp": '#include "model/model_test_support.hpp"\n'})

    def test_comments_and_strings_are_no_includes(self):
        self.assert_passes({"src/model/extra.cpp": (
            '// #include "lustre/a.hpp"\n/*\n#include "lustre/b.hpp"\n*/\nauto raw = R"x(\n#include "lustre/c.hpp"\n)x";\n'
            "int n = 1'000'000;\n")})

    def test_a_string_opens_no_comment(self):
        self.assert_fails(["src/model/extra.cpp:2: "],
                          {"src/model/extra.cpp": 'auto glob = "src/*";\n#include "flow/network.hpp"\nauto end = "*/";\n'})

    def test_graph(self):
        table = self.assert_passes(arguments=["--graph"]).stdout.splitlines()
        self.assertEqual(table, [
            "| module | includes | is included by |",
            "| --- | --- | --- |",
            "| base | - | model flow lustre |",
            "| model* | base | lustre |",
            "| flow* | base | - |",
            "| lustre | base model | - |",
        ])

    def test_usage(self):
        for layers in ("", "base\n", "base:a b\n", "base:\nbase:\n"):
            with self.subTest(layers=layers):
                self.assertEqual(self.check(layers=layers).returncode, 2)
        missing = subprocess.run([sys.executable, str(TOOL), "--layers", "/nonexistent", "--root", str(self.root)],
                                 capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(missing.returncode, 2)
        self.assertIn("cannot read the layers", missing.stderr)
        no_arguments = subprocess.run([sys.executable, str(TOOL)], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(no_arguments.returncode, 2)


if __name__ == "__main__":
    unittest.main()
