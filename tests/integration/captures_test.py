#!/usr/bin/env python3
"""The program's figures for captures of real servers, against oracles that share nothing with its parsers: PyYAML for job_stats and
layouts, the recorded answers of another exporter, 'lfs df', and the raw one-number files."""

import collections
import fnmatch
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import yaml
except ImportError:
    SYSTEM = "/usr/bin/python3"
    if os.path.exists(SYSTEM) and sys.executable != SYSTEM:
        os.execv(SYSTEM, [SYSTEM, *sys.argv])
    sys.exit("captures_test.py: PyYAML, the oracle of these tests, is missing: apt-get install python3-yaml")

ROOT = pathlib.Path(__file__).resolve().parents[2]
IEZ = os.environ.get("IEZ", str(ROOT / "build/dev/apps/iez/iez"))
DATA = pathlib.Path(os.environ.get("IEZ_TEST_DATA", ROOT / "tests/fixtures"))
CAPTURES = DATA / "captures"
LAYOUTS = DATA / "lustre-2.17.0"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
KIB = 1024

TREES = ("lustre-2.10.1", "lustre-2.17.0-before", "lustre-2.17.0-after")
DUMPS = ("valid", "valid2", "valid_mds", "ex8761-lctl", "params-6.2.0-r9", "2.14.0_ddn133_exports", "2.14.0_ddn145_stats", "2.17.0_after")
WITH_JOBS = ("lustre-2.10.1", "lustre-2.17.0-before", "lustre-2.17.0-after", "2.14.0_ddn162_job_stats", "2.14.0_ddn164_job_stats",
             "2.17.0_after")

# These rows describe calls that another row counts already.
COUNTED_ELSEWHERE = {"read", "write", "samedir_rename", "crossdir_rename", "parallel_rename_file", "parallel_rename_dir",
                     "rename_trylocks"}
TIMES = {"job_id", "snapshot_time", "start_time", "elapsed_time"}


def run(*arguments, cwd=CAPTURES, **environment):
    return subprocess.run([IEZ, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=60, cwd=cwd,
                          env={**os.environ, **environment})


def answer(*arguments, problems=0, **options):
    """The JSON document of a command that must succeed and talk of nothing but so many problems."""
    result = run(*arguments, "--json", **options)
    if result.returncode != 0:
        raise AssertionError(f"iez {' '.join(map(str, arguments))}: exit status {result.returncode}\n{result.stderr}")
    document = json.loads(result.stdout)
    talk = [line for line in result.stderr.splitlines() if "health_check says 'NOT HEALTHY'" not in line]  # true of two dumps
    if document["skipped_rows"] != problems or (not problems and talk):
        raise AssertionError(f"iez {' '.join(map(str, arguments))}: {document['skipped_rows']} rows skipped\n{result.stderr}")
    return document


class Tree:
    """A capture that is a directory."""

    HOMES = ("sys/fs/lustre", "proc/fs/lustre", "sys/kernel/debug/lustre")

    def __init__(self, root):
        self.root = root
        self.name = root.name

    def texts(self, *names):
        """The text of a parameter for each device; of several names and homes the first that has the device."""
        found = {}
        for name in names:
            for home in self.HOMES:
                for path in (self.root / home).glob(name.replace(".", "/")):
                    found.setdefault(path.relative_to(self.root / home).parts[1], path.read_text(encoding="utf-8"))
        return found


class Dump:
    """A capture that is the text of 'lctl get_param'."""

    def __init__(self, path):
        self.root = path
        self.name = path.name
        self.sections = {}
        section = None
        for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
            start = re.match(r"([a-z][^\s=]*)=(.*)", line, re.DOTALL)
            if start:
                section = self.sections.setdefault(start[1], [])
                line = start[2]
            elif line.startswith("#####"):
                section = None
            if section is not None and line.strip():
                section.append(line)

    def texts(self, *names):
        found = {}
        for name in names:
            pattern = re.compile(re.escape(name).replace(r"\*", r"([^.]*)") + "$")
            for key, lines in self.sections.items():
                if pattern.match(key):
                    found.setdefault(key.split(".")[1], "".join(lines))
        return found


def capture(name):
    return Tree(CAPTURES / name) if name in TREES else Dump(CAPTURES / "get_param" / f"{name}.txt")


def root_of(name):
    """The root as the command line gets it: relative to the captures."""
    return name if name in TREES else f"get_param/{name}.txt"


def target_of(device):
    """'lustre-OST0001-osc-MDT0000' is about OST0001, seen from an MDS; 'lustre-OST0001-osc-ffff88' from a client."""
    match = re.fullmatch(r"(.+?)-(OST|MDT)([0-9a-f]{4})(?:-osc-(MDT)?.*)?", device)
    return match and {"fs": match[1], "kind": match[2], "index": int(match[3], 16), "name": f"{match[1]}-{match[2]}{match[3]}",
                      "from": "osp" if match[4] else "osc" if "-osc-" in device else "obdfilter"}


def numbers(source, kind, *names):
    """{OST index: number} of a parameter, for devices of a kind: obdfilter, osp, osc."""
    found = {}
    for device, text in source.texts(*names).items():
        target = target_of(device)
        if target and target["kind"] == "OST" and target["from"] == kind:
            found[target["index"]] = int(text)
    return found


def expected_osts(source):
    """{index: figures} from the one-number files. A server knows its own targets best, then the MDS, then the client."""
    osts = {}
    for kind, places in (("obdfilter", ("obdfilter", "osd-*")), ("osp", ("osp", "osc")), ("osc", ("osc",))):
        space = [numbers(source, kind, *(f"{place}.*.kbytes{what}" for place in places)) for what in ("total", "free", "avail")]
        imports = {}
        for device, text in source.texts(*(f"{place}.*.import" for place in places)).items():
            target = target_of(device)
            connection = re.search(r'^\s+current_connection: "?([^"\s]+)', text, re.MULTILINE)
            if target and target["from"] == kind and connection:
                imports[target["index"]] = connection[1]
        for index in set(space[0]) & set(space[1]) & set(space[2]) - set(osts):
            nid = imports.get(index, "0@lo") if kind != "obdfilter" else "0@lo"
            osts[index] = {"total_bytes": space[0][index] * KIB, "free_bytes": space[1][index] * KIB,
                           "available_bytes": space[2][index] * KIB, "used_bytes": (space[0][index] - space[1][index]) * KIB,
                           "server": source.name if nid == "0@lo" else nid, "source": kind}
    degraded = numbers(source, "obdfilter", "obdfilter.*.degraded")
    read_only = numbers(source, "obdfilter", "obdfilter.*.readonly")
    no_create = numbers(source, "obdfilter", "obdfilter.*.no_create")
    active = numbers(source, "osp", "osp.*.active", "osc.*.active")
    most = numbers(source, "osp", "osp.*.max_create_count", "osc.*.max_create_count")
    for index, ost in osts.items():
        ost["state"] = [word for word, holds in (
            ("inactive", active.get(index) == 0), ("degraded", degraded.get(index, 0) != 0), ("read-only", read_only.get(index, 0) != 0),
            ("no-create", no_create.get(index, 0) != 0 or most.get(index) == 0),
            ("full", ost["total_bytes"] and not ost["available_bytes"])) if holds] or ["active"]
    return osts


def prometheus(name):
    """[(metric, labels, value)] of a recorded answer."""
    rows = []
    for line in (CAPTURES / "expected" / f"{name}.prom").read_text(encoding="utf-8").splitlines():
        metric, labels, value = re.fullmatch(r"(\w+)\{(.*)\} (\d+)", line).groups()
        rows.append((metric, dict(re.findall(r'(\w+)="([^"]*)"', labels)), int(value)))
    return rows


class Case(unittest.TestCase):
    maxDiff = None

    def assert_close(self, actual, expected, what):
        if expected is None or actual is None:
            self.assertEqual(actual, expected, what)
        else:
            self.assertTrue(math.isclose(actual, expected, rel_tol=1e-9), f"{what}: {actual}, expected {expected}")


class Status(Case):
    def view(self, name, **options):
        views = answer("status", "--root", root_of(name), **options)["filesystems"]
        self.assertEqual(len(views), 1, name)
        return views[0]

    def test_every_ost_is_as_its_files_say(self):
        for name in TREES + DUMPS:
            with self.subTest(capture=name):
                expected = expected_osts(capture(name))
                self.assertTrue(expected)
                osts = self.view(name)["osts"]
                self.assertEqual([ost["index"] for ost in osts], sorted(expected))
                for ost in osts:
                    shown = {key: ost[key] for key in expected[ost["index"]]}
                    self.assertEqual(shown, expected[ost["index"]], ost["name"])
                    self.assert_close(ost["utilisation"], ost["used_bytes"] / ost["total_bytes"], ost["name"])
                    self.assertEqual(target_of(ost["name"])["index"], ost["index"])

    def test_sums_and_costs(self):
        for name in TREES + DUMPS:
            with self.subTest(capture=name):
                view = self.view(name)
                expected = expected_osts(capture(name))
                total = sum(ost["total_bytes"] for ost in expected.values())
                used = sum(ost["used_bytes"] for ost in expected.values())
                self.assertEqual((view["total_bytes"], view["used_bytes"]), (total, used))
                self.assertEqual(view["available_bytes"], sum(ost["available_bytes"] for ost in expected.values()))
                self.assert_close(view["utilisation"], used / total, "utilisation")

                servers = collections.defaultdict(list)
                for ost in expected.values():
                    servers[ost["server"]].append(ost)
                self.assertEqual({server["name"]: server["osts"] for server in view["servers"]},
                                 {server: len(osts) for server, osts in servers.items()})
                shares = []
                for server in view["servers"]:
                    osts = servers[server["name"]]
                    sums = {key: sum(ost[key] for ost in osts) for key in ("total_bytes", "used_bytes", "available_bytes")}
                    self.assertEqual({key: server[key] for key in sums}, sums)
                    shares.append(sums["used_bytes"] / sums["total_bytes"])
                    self.assert_close(server["utilisation"], shares[-1], server["name"])
                most = max(ost["used_bytes"] / ost["total_bytes"] for ost in expected.values())
                self.assert_close(view["ost_cost"], most / (used / total), "ost_cost")
                self.assert_close(view["oss_cost"], max(shares) / (used / total), "oss_cost")

    def test_versions(self):
        for name, version in (("lustre-2.10.1", "2.10.1"), ("lustre-2.17.0-after", "2.17.0"), ("2.17.0_after", "2.17.0"), ("valid", None)):
            self.assertEqual(self.view(name)["version"], version, name)

    def test_targets_of_the_other_server_are_seen_from_the_mds(self):
        osts = {ost["index"]: ost for ost in self.view("lustre-2.10.1")["osts"]}
        self.assertEqual({index: ost["source"] for index, ost in osts.items()},
                         {0: "obdfilter", 1: "osp", 2: "obdfilter", 3: "osp", 4: "obdfilter", 5: "osp", 6: "obdfilter"})
        self.assertEqual({osts[index]["server"] for index in (1, 3, 5)}, {"172.20.20.6@o2ib"})
        self.assertEqual({osts[index]["server"] for index in (0, 2, 4, 6)}, {"lustre-2.10.1"})

    def test_space_is_as_another_exporter_read_it(self):
        keys = {"lustre_capacity_kilobytes": "total_bytes", "lustre_free_kilobytes": "free_bytes",
                "lustre_available_kilobytes": "available_bytes"}
        for name in DUMPS[:-1]:
            with self.subTest(capture=name):
                osts = {ost["name"]: ost for ost in self.view(name)["osts"]}
                rows = prometheus(name)
                self.assertEqual({labels["target"] for _, labels, _ in rows}, set(osts))
                self.assertEqual(len(rows), 3 * len(osts))
                for metric, labels, value in rows:
                    self.assertEqual(osts[labels["target"]][keys[metric]], value * KIB, (metric, labels))

    def test_space_is_as_lfs_df_says(self):
        # Taken with the later tree, on an idle file system: its numbers are that tree's to the kilobyte. The earlier tree can only have
        # the same sizes, and less used, for in between files were written.
        rows = re.findall(r"^(\S+)_UUID +(\d+) +(\d+) +(\d+)", (CAPTURES / "expected/lfs_df-2.17.0.txt").read_text(encoding="utf-8"),
                          re.MULTILINE)
        df = {name: tuple(int(column) * KIB for column in columns) for name, *columns in rows if "-OST" in name}
        self.assertEqual(len(df), 6)
        for name in ("lustre-2.17.0-after", "2.17.0_after"):
            shown = {ost["name"]: (ost["total_bytes"], ost["used_bytes"], ost["available_bytes"]) for ost in self.view(name)["osts"]}
            self.assertEqual(shown, df, name)
        for ost in self.view("lustre-2.17.0-before")["osts"]:
            total, used, available = df[ost["name"]]
            self.assertEqual(ost["total_bytes"], total)
            self.assertLess(ost["used_bytes"], used)
            self.assertGreater(ost["available_bytes"], available)
        summary = re.search(r"^filesystem_summary: +(\d+) +(\d+) +(\d+)", (CAPTURES / "expected/lfs_df-2.17.0.txt").read_text(encoding="utf-8"),
                            re.MULTILINE)
        view = self.view("lustre-2.17.0-after")
        self.assertEqual([view["total_bytes"], view["used_bytes"], view["available_bytes"]], [int(sum_) * KIB for sum_ in summary.groups()])

    def test_several_roots(self):
        # Two servers of two file systems, and of one: what both know is told once, by whom it belongs to.
        document = answer("status", "--root", root_of("valid"), "--root", root_of("lustre-2.10.1"))
        self.assertEqual([view["name"] for view in document["filesystems"]], ["ai400", "lustrefs"])
        for view, name in zip(document["filesystems"], ("valid", "lustre-2.10.1")):
            self.assertEqual(view, self.view(name))
        both = answer("status", "--root", "lustre-2.17.0-after", "--root", "lustre-2.17.0-before")["filesystems"]
        self.assertEqual(both[0]["osts"], self.view("lustre-2.17.0-after")["osts"])

    def test_one_file_system_of_two(self):
        roots = ("--root", root_of("valid"), "--root", root_of("lustre-2.10.1"))
        self.assertEqual(answer("status", *roots, "--fs", "lustrefs")["filesystems"], [self.view("lustre-2.10.1")])
        result = run("status", *roots, "--fs", "nosuch")
        self.assertEqual(result.returncode, 1)
        self.assertIn("'nosuch' is not here; found: ai400, lustrefs", result.stderr)

    def test_a_capture_without_targets(self):
        for name in ("2.14.0_llite_client", "2.14.0_ddn162_job_stats"):
            result = run("status", "--root", root_of(name))
            self.assertEqual(result.returncode, 1, name)
            self.assertIn(f"no Lustre target in {name}.txt", result.stderr)
            self.assertEqual(result.stdout, "")


def exact(value):
    """Nanoseconds of '12.5 secs.nsecs', or of the whole seconds of old versions; a float would lose some."""
    whole, _, fraction = str(value).split()[0].partition(".")
    return int(whole) * 10**9 + int((fraction + "0" * 9)[:9])


class Jobs:
    """{target: {job id: the mapping of its YAML entry}} of a capture, from all its job_stats."""

    def __init__(self, source):
        self.source = source
        self.targets = {}
        for device, text in source.texts("obdfilter.*.job_stats", "mdt.*.job_stats").items():
            entries = (yaml.load(self.whole(text), LOADER) or {}).get("job_stats") or []
            self.targets[device] = {str(entry["job_id"]): entry for entry in entries}

    @staticmethod
    def whole(text):
        """The text of one dump was cut at a number of bytes, within a row: what stands before counts."""
        lines = text.splitlines(keepends=True)
        while lines and lines[-1].count("{") != lines[-1].count("}"):
            lines.pop()
        return "".join(lines)

    def ids(self):
        return {job for jobs in self.targets.values() for job in jobs}

    def entries(self, job):
        return {target: jobs[job] for target, jobs in self.targets.items() if job in jobs}

    def sampled(self, target):
        """When the target's counters were read, in nanoseconds: its statistics bear the time."""
        stats = self.source.texts("obdfilter.*.stats", "mdt.*.md_stats")[target]
        return exact(re.search(r"^snapshot_time\s+(\S+)", stats, re.MULTILINE)[1])


def calls(entry):
    return {name: row["samples"] for name, row in entry.items() if name not in TIMES and row["samples"]}


def traffic(*entries):
    """What the program shows of some entries of one job."""
    samples = collections.Counter()
    moved = collections.Counter()
    for entry in entries:
        samples.update(calls(entry))
        for name in ("read_bytes", "write_bytes"):
            moved[name] += entry.get(name, {}).get("sum", 0)
    data_calls = samples["read_bytes"] + samples["write_bytes"]
    return {"read_bytes": moved["read_bytes"], "write_bytes": moved["write_bytes"], "read_calls": samples["read_bytes"],
            "write_calls": samples["write_bytes"],
            "operations": sum(count for name, count in samples.items() if name not in COUNTED_ELSEWHERE),
            "bytes_per_call": sum(moved.values()) / data_calls if data_calls else 0}


def lifetime(entry):
    """Nanoseconds, or None where the version does not tell."""
    if "elapsed_time" in entry:
        return exact(entry["elapsed_time"])
    return exact(entry["snapshot_time"]) - exact(entry["start_time"]) if "start_time" in entry else None


SECOND = 10**9  # nanoseconds: a life shorter than that has no rate


def rates(parts, shortest):
    """The rates of [(traffic, nanoseconds)]: targets work side by side, so what they did adds and the longest time counts."""
    time = max((time or 0 for _, time in parts), default=0)
    return {rate: sum(amount[key] for amount, _ in parts) / (time / 1e9) if time >= shortest else None
            for rate, key in (("read_rate", "read_bytes"), ("write_rate", "write_bytes"), ("operation_rate", "operations"))}


class Top(Case):
    # Two sections of this dump end within a row: reported, and not counted.
    PROBLEMS = collections.Counter({"2.17.0_after": 2})

    def top(self, name, *arguments):
        return answer("top", "--root", root_of(name), *arguments, problems=self.PROBLEMS[name])

    def assert_figures(self, shown, expected, what):
        for key, value in expected.items():
            if isinstance(value, int):
                self.assertEqual(shown[key], value, f"{what} {key}")
            else:
                self.assert_close(shown[key], value, f"{what} {key}")

    def test_every_counter_of_every_job_is_as_yaml_reads_it(self):
        for name in WITH_JOBS:
            jobs = Jobs(capture(name))
            document = self.top(name)
            self.assertEqual({job["job_id"] for job in document["jobs"]}, jobs.ids(), name)
            self.assertEqual(len(document["jobs"]), len(jobs.ids()), name)
            self.assertEqual((document["jobs_seen"], document["jobs_matching"], document["jobs_dropped"]), (len(jobs.ids()), len(jobs.ids()), 0))
            for job in document["jobs"]:
                with self.subTest(capture=name, job=job["job_id"]):
                    entries = jobs.entries(job["job_id"])
                    self.assertEqual(job["targets"], len(entries))
                    self.assert_figures(job, traffic(*entries.values()), "job")
                    expected = sum((collections.Counter(calls(entry)) for entry in entries.values()), collections.Counter())
                    self.assertEqual(job["calls"], dict(expected))

    def test_there_is_something_to_compare(self):
        sizes = {name: len(Jobs(capture(name)).ids()) for name in WITH_JOBS}
        self.assertEqual(sizes["lustre-2.17.0-before"], 0)
        for name in WITH_JOBS:
            if name != "lustre-2.17.0-before":
                self.assertGreaterEqual(sizes[name], 7, name)

    def test_rates_over_a_job_s_life(self):
        for name, basis in (("lustre-2.10.1", "none"), ("lustre-2.17.0-after", "lifetime"), ("2.14.0_ddn162_job_stats", "lifetime")):
            jobs = Jobs(capture(name))
            document = self.top(name)
            self.assertEqual((document["rate_basis"], document["interval_seconds"]), (basis, None), name)
            for job in document["jobs"]:
                entries = jobs.entries(job["job_id"]).values()
                self.assert_figures(job, rates([(traffic(entry), lifetime(entry)) for entry in entries], SECOND), f"{name} {job['job_id']}")

    def test_jobs_are_as_another_exporter_read_them(self):
        for name in ("2.14.0_ddn162_job_stats", "2.14.0_ddn164_job_stats"):
            expected = collections.defaultdict(collections.Counter)
            calls_expected = collections.defaultdict(collections.Counter)
            columns = {"lustre_job_read_bytes_total": "read_bytes", "lustre_job_write_bytes_total": "write_bytes",
                       "lustre_job_read_samples_total": "read_calls", "lustre_job_write_samples_total": "write_calls"}
            for metric, labels, value in prometheus(name):
                if metric == "lustre_job_stats_total":
                    calls_expected[labels["jobid"]][labels["operation"]] += value
                else:
                    expected[labels["jobid"], labels["target"]][columns[metric]] += value
            document = self.top(name, "--per", "ost")
            self.assertEqual({job["job_id"] for job in document["jobs"]}, set(calls_expected), name)
            compared = 0
            for job in document["jobs"]:
                for operation, count in calls_expected[job["job_id"]].items():
                    self.assertEqual(job["calls"].get(operation, 0), count, (job["job_id"], operation))
                for part in job["per_target"]:
                    for key, value in expected[job["job_id"], part["target"]].items():
                        self.assertEqual(part[key], value, (job["job_id"], key))
                        compared += 1
            self.assertEqual(compared, sum(len(row) for row in expected.values()), name)

    def test_per_ost(self):
        for name in WITH_JOBS:
            jobs = Jobs(capture(name))
            for job in self.top(name, "--per", "ost")["jobs"]:
                entries = jobs.entries(job["job_id"])
                self.assertEqual([part["target"] for part in job["per_target"]], sorted(entries), (name, job["job_id"]))
                for part in job["per_target"]:
                    entry = entries[part["target"]]
                    what = f"{name} {job['job_id']} {part['target']}"
                    self.assert_figures(part, {**traffic(entry), **rates([(traffic(entry), lifetime(entry))], SECOND)}, what)
                self.assert_figures(job, traffic(*entries.values()), f"{name} {job['job_id']}")

    def test_per_server(self):
        names = ("lustre-2.10.1", "2.14.0_ddn164_job_stats")
        document = answer("top", "--root", root_of(names[0]), "--root", root_of(names[1]), "--per", "server")
        sources = {capture(name).name: Jobs(capture(name)) for name in names}
        self.assertEqual({job["job_id"] for job in document["jobs"]}, set.union(*(jobs.ids() for jobs in sources.values())))
        for job in document["jobs"]:
            expected = {server: jobs.entries(job["job_id"]) for server, jobs in sources.items() if jobs.entries(job["job_id"])}
            self.assertEqual([part["server"] for part in job["per_server"]], sorted(expected))
            for part in job["per_server"]:
                self.assert_figures(part, traffic(*expected[part["server"]].values()), f"{part['server']} {job['job_id']}")

    def test_user(self):
        # Every id of these captures that tells a user, and only those, by the site's own settings.
        for name, pattern in (("lustre-2.17.0-after", r".*[.:](\d+)"), ("2.14.0_ddn164_job_stats", r"[^:]+:(\d+):.*"),
                              ("2.14.0_ddn162_job_stats", r"[^:]+:(\d+):.*")):
            ids = Jobs(capture(name)).ids()
            users = {match[1] for match in (re.fullmatch(pattern, job) for job in ids) if match}
            self.assertTrue(users)
            silent = sum(1 for job in ids if not re.fullmatch(pattern, job))
            for user in users:
                with self.subTest(capture=name, user=user):
                    result = run("top", "--root", root_of(name), "--user", user, "--json")
                    self.assertEqual(result.returncode, 0)
                    shown = json.loads(result.stdout)["jobs"]
                    expected = {job for job in ids if (match := re.fullmatch(pattern, job)) and match[1] == user}
                    self.assertEqual({job["job_id"] for job in shown}, expected)
                    self.assertEqual({job["uid"] for job in shown}, {int(user)})
                    self.assertEqual(f"{silent} jobs left out" in result.stderr, silent > 0, result.stderr)
        root = run("top", "--root", "lustre-2.17.0-after", "--user", "root", "--json")
        self.assertEqual(json.loads(root.stdout), json.loads(run("top", "--root", "lustre-2.17.0-after", "--user", "0", "--json").stdout))

    def test_job(self):
        for name, patterns in (("lustre-2.17.0-after", ("dd.*", "*.1000", "4243", "my-session-job", "lltest.?*", "nothing*")),
                               ("lustre-2.10.1", ("5?", "24", "*")), ("2.14.0_ddn162_job_stats", ("SLURM_JOB10*", "SLURM_JOB?0"))):
            ids = Jobs(capture(name)).ids()
            for pattern in patterns:
                with self.subTest(capture=name, pattern=pattern):
                    document = self.top(name, "--job", pattern)
                    expected = {job for job in ids if fnmatch.fnmatchcase(job, pattern)}
                    self.assertEqual({job["job_id"] for job in document["jobs"]}, expected)
                    self.assertEqual((document["jobs_seen"], document["jobs_matching"]), (len(ids), len(expected)))

    def test_sort(self):
        keys = {"bytes": lambda job: job["read_bytes"] + job["write_bytes"], "rate": lambda job: (job["read_rate"] or 0) + (job["write_rate"] or 0),
                "read": lambda job: job["read_bytes"], "write": lambda job: job["write_bytes"], "ops": lambda job: job["operations"],
                "size": lambda job: job["bytes_per_call"], "job": lambda job: 0}
        for name in ("lustre-2.17.0-after", "2.14.0_ddn162_job_stats"):
            for key, value in keys.items():
                with self.subTest(capture=name, sort=key):
                    jobs = self.top(name, "--sort", key)["jobs"]
                    order = [(-value(job), job["job_id"].encode()) for job in jobs]
                    self.assertEqual(order, sorted(order))
                    backwards = self.top(name, "--sort", key, "--reverse")["jobs"]
                    self.assertEqual(backwards, jobs[::-1])
            self.assertEqual(self.top(name), self.top(name, "--sort", "bytes"))

    def test_limit(self):
        all_jobs = self.top("lustre-2.17.0-after")["jobs"]
        for limit in (1, 5, 1000):
            document = self.top("lustre-2.17.0-after", "--limit", limit)
            self.assertEqual(document["jobs"], all_jobs[:limit])
            self.assertEqual((document["jobs_seen"], document["jobs_matching"]), (len(all_jobs), len(all_jobs)))
        self.assertEqual(self.top("lustre-2.17.0-after", "--limit", 0)["jobs"], all_jobs)
        rows = run("top", "--root", "lustre-2.17.0-after", "--no-header").stdout.splitlines()
        self.assertEqual(len(rows), 20)
        rows = run("top", "--root", "lustre-2.17.0-after", "--no-header", "--limit", "0").stdout.splitlines()
        self.assertEqual(len(rows), len(all_jobs))

    def assert_changes(self, document, before, after):
        """Rates are the difference of the counters over the difference of the times, target by target."""
        nothing = collections.Counter()
        longest = 0
        for job in document["jobs"]:
            parts = []
            for target, entry in after.entries(job["job_id"]).items():
                if target not in before.targets:
                    continue
                time = after.sampled(target) - before.sampled(target)
                earlier = before.targets[target].get(job["job_id"])
                old = traffic(earlier) if earlier else nothing
                new = traffic(entry)
                parts.append(({key: new[key] - old[key] for key in new}, time))
                longest = max(longest, time)
            self.assert_figures(job, rates(parts, 1), job["job_id"])
            self.assert_figures(job, traffic(*after.entries(job["job_id"]).values()), job["job_id"])
        self.assertEqual(document["rate_basis"], "interval")
        self.assert_close(document["interval_seconds"], longest / 1e9, "interval")

    def test_since_an_earlier_capture(self):
        document = answer("top", "--since", "lustre-2.17.0-before", "--root", "lustre-2.17.0-after")
        self.assertEqual((document["restarted"], document["ended"]), (0, 0))
        self.assert_changes(document, Jobs(capture("lustre-2.17.0-before")), Jobs(capture("lustre-2.17.0-after")))

    def test_since_a_capture_with_jobs(self):
        # The later capture, set back: 100 s, and some of what two jobs did. A third had not begun on one of its targets.
        with tempfile.TemporaryDirectory() as folder:
            earlier = pathlib.Path(folder) / "earlier"
            shutil.copytree(CAPTURES / "lustre-2.17.0-after", earlier)
            for path in [*earlier.glob("sys/kernel/debug/lustre/obdfilter/*/stats"), *earlier.glob("proc/fs/lustre/mdt/*/md_stats")]:
                text = path.read_text(encoding="utf-8")
                path.write_text(re.sub(r"^(snapshot_time\s+)(\d+)", lambda match: f"{match[1]}{int(match[2]) - 100}", text, flags=re.MULTILINE),
                                encoding="utf-8")
            changed = 0
            for path in earlier.glob("proc/fs/lustre/*/*/job_stats"):
                jobs = re.split(r"^(?=- job_id:)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
                for i, job in enumerate(jobs):
                    if re.match(r"- job_id: +(dd\.0|lltest\.1000)\n", job):
                        jobs[i] = re.sub(r"((?:samples|sum): +)(\d+)", lambda match: f"{match[1]}{int(match[2]) // 3}", job)
                        changed += jobs[i] != job
                    elif re.match(r"- job_id: +touch\.0\n", job) and "OST0001" in str(path):
                        jobs[i] = ""
                        changed += 1
                path.write_text("".join(jobs), encoding="utf-8")
            self.assertGreater(changed, 3)
            document = answer("top", "--since", earlier, "--root", "lustre-2.17.0-after")
            self.assertEqual((document["restarted"], document["ended"]), (0, 0))
            self.assert_close(document["interval_seconds"], 100, "interval")
            self.assert_changes(document, Jobs(Tree(earlier)), Jobs(capture("lustre-2.17.0-after")))
            moving = {job["job_id"] for job in document["jobs"] if job["operation_rate"]}
            self.assertTrue({"dd.0", "lltest.1000"} <= moving)
            self.assertFalse({"lfs.0", "my-session-job"} & moving)

    def test_no_time_between_two_captures(self):
        document = answer("top", "--since", "lustre-2.17.0-after", "--root", "lustre-2.17.0-after")
        self.assertEqual((document["interval_seconds"], document["restarted"], document["ended"]), (None, 0, 0))
        self.assertEqual({job["read_rate"] for job in document["jobs"]}, {None})


class Layout(Case):
    @staticmethod
    def expected():
        texts = re.split(r"^#+ lfs getstripe -y (\S+)\n", (LAYOUTS / "lfs_getstripe_y.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)
        return {name: yaml.load(text, LOADER) for name, text in zip(texts[1::2], texts[2::2])}

    def assert_component(self, shown, expected, what):
        stripe = {re.sub(r"^lmm_", "", key): value for key, value in expected.items()}
        # The default of a directory may leave the size open: 0 in the attribute, for which lfs prints the file system's own default.
        size = 0 if what.startswith("dir_") and shown["stripe_size"] == 0 and stripe["stripe_size"] == 4 << 20 else stripe["stripe_size"]
        self.assertEqual(shown["stripe_size"], size, what)
        self.assertEqual(shown["stripe_count"], stripe["stripe_count"], what)
        words = stripe["pattern"].split(",")
        self.assertEqual((shown["pattern"], shown["overstriped"]), (words[0], "overstriped" in words), what)
        self.assertEqual(shown["pool"], stripe.get("pool"), what)
        self.assertEqual(shown["objects"], [{"ost": item["l_ost_idx"], "object": item["l_fid"]} for item in stripe.get("objects", [])], what)

    def assert_layout(self, path, expected):
        result = run("layout", "show", "--raw", "--json", path)
        self.assertEqual((result.returncode, result.stderr), (0, ""), path.name)
        shown = json.loads(result.stdout)
        composite = "components" in expected
        self.assertEqual(shown["composite"], composite, path.name)
        if not composite:
            self.assertEqual(len(shown["components"]), 1)
            self.assert_component(shown["components"][0], expected, path.name)
            return
        self.assertEqual((shown["generation"], shown["mirrors"]), (expected["lcm_layout_gen"], expected["lcm_mirror_count"]), path.name)
        self.assertEqual(len(shown["components"]), expected["lcm_entry_count"])
        for component, wanted in zip(shown["components"], expected["components"]):
            none = {"N/A": None, "EOF": None}
            for key, name in (("id", "lcme_id"), ("mirror", "lcme_mirror_id"), ("start", "lcme_extent.e_start"), ("end", "lcme_extent.e_end")):
                self.assertEqual(component[key], none.get(wanted[name], wanted[name]), f"{path.name} {key}")
            flags = wanted["lcme_flags"]
            self.assertEqual(component["flags"], flags.split(",") if flags else [], path.name)
            self.assert_component(component, wanted["sub_layout"], path.name)

    def test_attributes_are_as_lfs_getstripe_says(self):
        paths = sorted((LAYOUTS / "xattr").glob("*.lustre.lov.bin"))
        expected = self.expected()
        self.assertEqual({path.name.split(".")[0] for path in paths}, set(expected))
        for path in paths:
            with self.subTest(file=path.name):
                self.assert_layout(path, expected[path.name.split(".")[0]])

    def test_answers_of_the_ioctl_are_as_lfs_getstripe_says(self):
        # Their trailing zero bytes were cut off when they were kept: whole again with the length of the attribute. Of a file with
        # components the ioctl tells but one, so those are left out.
        expected = {name: layout for name, layout in self.expected().items() if "components" not in layout}
        with tempfile.TemporaryDirectory() as folder:
            for name in expected:
                path = LAYOUTS / "xattr" / f"{name}.ioctl_GETSTRIPE.bin"
                length = (LAYOUTS / "xattr" / f"{name}.lustre.lov.bin").stat().st_size
                whole = pathlib.Path(folder) / path.name
                whole.write_bytes(path.read_bytes().ljust(length, b"\0"))
                with self.subTest(file=path.name):
                    self.assert_layout(whole, expected[name])

    def test_a_cut_attribute_is_refused(self):
        whole = (LAYOUTS / "xattr/pfl.lustre.lov.bin").read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "cut.bin"
            for length in range(len(whole)):
                path.write_bytes(whole[:length])
                result = run("layout", "show", "--raw", path)
                self.assertEqual((result.returncode, result.stdout), (1, ""), length)
                self.assertIn(str(path), result.stderr)


class Golden(unittest.TestCase):
    def test_text_output(self):
        result = subprocess.run([sys.executable, str(ROOT / "tools/approve"), "--check"], capture_output=True, text=True, check=False,
                                timeout=120, env={**os.environ, "IEZ": IEZ, "IEZ_TEST_DATA": str(DATA)})
        self.assertEqual(result.returncode, 0, f"\n{result.stdout}{result.stderr}")


if __name__ == "__main__":
    unittest.main()
