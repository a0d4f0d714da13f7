#!/usr/bin/env python3
"""iez jobs prolog, epilog, collect, spool and import: nodes that die, disks that are full, the agent's sampler, and what a real Prometheus
and a real MariaDB give."""

import http.client
import http.server
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import threading
import time
import unittest

import folder_case
from mariadb_server import start_mariadb

ROOT = pathlib.Path(os.environ.get("IEZ_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
IEZ = str(pathlib.Path(os.environ.get("IEZ", ROOT / "build/dev/apps/iez/iez")).resolve())
DATA = pathlib.Path(os.environ.get("IEZ_TEST_DATA", ROOT / "tests/fixtures"))
PATIENCE = 60
STATS = "sys/kernel/debug/lustre/llite/fs-ffff888100000000/stats"
ODD = "a\"b,c\nd\N{ROCKET}"


def iez(*arguments, status=0, **options):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("SLURM", "PBS", "FLUX"))}
    result = subprocess.run([IEZ, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=PATIENCE,
                            stdin=subprocess.DEVNULL, env={**environment, **options.pop("variables", {})}, **options)
    assert result.returncode == status, (arguments, result.returncode, result.stderr)
    return result


def stats(calls, written):
    return (f"snapshot_time 1794728900.5 secs.nsecs\nstart_time 1794728300.5 secs.nsecs\n"
            f"write_bytes {calls} samples [bytes] 4096 1048576 {written} 158333029842944\nmkdir {calls} samples [usecs] 1 2 3 4\n")


def job_stats(*jobs):
    return "job_stats:\n" + "".join(f"- job_id:          {job}\n  snapshot_time:   1794728900\n"
                                    f"  write_bytes:     {{ samples: {calls}, unit: bytes, min: 1, max: 9, sum: {written} }}\n"
                                    for job, calls, written in jobs)


class Nodes(folder_case.FolderCase):
    def setUp(self):
        super().setUp()
        self.spool = self.folder / "spool"

    def node(self, name, command, *extra, job="4711", status=0, spool=None, variables=None):
        where = ["--spool", spool or self.spool] if command == "epilog" else []
        who = ["--job", job] if job else []
        return iez("jobs", command, "--root", self.folder / name, "--state", self.folder / f"{name}-state", "--node", name, *who, *where,
                   *extra, status=status, variables=variables or {})

    def run_job(self, name, before, after, *extra, **options):
        self.file(f"{name}/{STATS}", stats(*before))
        self.node(name, "prolog", *extra, **options)
        self.file(f"{name}/{STATS}", stats(*after))
        self.node(name, "epilog", *extra, **options)

    def collect(self, *options):
        return json.loads(iez("jobs", "collect", self.spool, "--json", *options).stdout)

    def test_two_nodes(self):
        who = ("--cluster", "q", "--user", "1000", "--nodes", "2")
        self.run_job("n1", (10, 1000), (20, 5000), *who)
        self.assertEqual(self.collect()["summary"]["waiting"], 1)
        self.run_job("n2", (0, 0), (1, 7), *who)
        [row] = self.collect()["jobs"]
        self.assertEqual((row["job"], row["cluster"], row["user"], row["nodes"], row["silent_nodes"]), ("4711", "q", "1000", 2, 0))
        self.assertEqual((row["write_bytes"], row["write_calls"], row["mkdir"]), (4007, 11, 11))
        table = iez("jobs", "collect", self.spool, "--no-header").stdout
        self.assertIn("4711", table)
        state = self.folder / "n1-state"
        self.assertEqual(state.stat().st_mode & 0o777, 0o700)
        self.assertEqual(list(state.iterdir()), [])

    def test_a_node_that_never_ran_its_epilog(self):
        self.run_job("n1", (10, 1000), (20, 5000), "--nodes", "3")
        self.assertEqual(self.collect()["jobs"], [])
        [row] = self.collect("--wait", "0s")["jobs"]
        self.assertEqual((row["nodes"], row["silent_nodes"], row["write_bytes"]), (3, 2, 4000))

    def test_a_node_that_reports_late_amends_the_job_in_the_store(self):
        out, store = self.folder / "out", self.folder / "store"

        def ingest():
            told = json.loads(iez("jobs", "ingest", out, "--store", store, "--json").stdout)
            return told["added"], told["amended"], told["known"]

        self.run_job("n1", (10, 1000), (20, 5000), "--nodes", "2")
        self.collect("--wait", "0s", "--out", out)
        self.assertEqual(ingest(), (1, 0, 0))
        self.run_job("n2", (0, 0), (1, 7), "--nodes", "2")
        self.assertEqual(self.collect("--out", out)["summary"]["amended"], 1)
        # The spool has both rows: of a batch, one is the job's.
        self.assertEqual(ingest(), (0, 1, 1))
        self.assertEqual(ingest(), (0, 0, 2))
        job = json.loads(iez("jobs", "show", "4711", "--store", store, "--json").stdout)["job"]
        self.assertEqual(dict(zip(job["columns"], job["rows"][0]))["write_bytes"], 4007)

    def test_rows_are_handed_on_once(self):
        self.run_job("n1", (10, 1000), (20, 5000), "--nodes", "1")
        out = self.folder / "out"
        self.assertEqual(self.collect("--out", out)["summary"]["summed"], 1)
        self.assertEqual(self.collect("--out", out)["summary"], {**self.collect("--out", out)["summary"], "summed": 0, "known": 1})
        self.assertEqual([json.loads(line)["kind"] for line in iez("jobs", "spool", out, "--json").stdout.splitlines()], ["job"])
        self.assertEqual(self.collect("--again")["summary"]["summed"], 1)

    def test_the_variables_of_schedulers(self):
        for variables, job, user, nodes in (
            ({"SLURM_JOB_ID": "5", "SLURM_JOB_UID": "7", "SLURM_CLUSTER_NAME": "c", "SLURM_NODELIST": "n[1-3,7],m1"}, "5", "7", 5),
            ({"FLUX_JOB_ID": "f1", "FLUX_JOB_USERID": "8", "FLUX_JOB_NNODES": "2"}, "f1", "8", 2),
            ({"PBS_JOBID": "6.server"}, "6.server", "", 1),
        ):
            self.run_job("n1", (1, 10), (2, 30), job=None, variables=variables)
            rows = {row["job"]: row for row in self.collect("--wait", "0s")["jobs"]}
            self.assertEqual((rows[job]["user"], rows[job]["nodes"], rows[job]["write_bytes"]), (user, nodes, 20))
        iez("jobs", "prolog", "--state", self.folder / "s", status=2)

    def test_ids_of_any_letters(self):
        self.run_job("n1", (1, 10), (2, 30), "--nodes", "1", job=ODD)
        [row] = self.collect()["jobs"]
        self.assertEqual(row["job"], ODD)
        self.assertIn("a\"b,c\\x0ad", iez("jobs", "collect", self.spool).stdout)

    def test_no_prolog(self):
        self.file(f"n1/{STATS}", stats(1, 1))
        self.assertIn("no prolog ran on this node", self.node("n1", "epilog", status=1).stderr)
        self.run_job("n1", (1, 10), (2, 30))
        self.assertIn("its epilog has run already", self.node("n1", "epilog", status=1).stderr)

    def test_a_spool_that_is_full(self):
        """The report waits on the node, and goes with the next job's."""
        blocked = self.file("blocked", "a file") / "spool"
        self.file(f"n1/{STATS}", stats(1, 10))
        self.node("n1", "prolog")
        self.file(f"n1/{STATS}", stats(2, 30))
        self.assertIn("the report waits on this node", self.node("n1", "epilog", spool=blocked).stderr)
        self.assertFalse(self.spool.exists())
        self.run_job("n1", (2, 30), (3, 35), job="4712")
        self.assertEqual({row["job"]: row["write_bytes"] for row in self.collect("--wait", "0s")["jobs"]}, {"4711": 20, "4712": 5})
        self.assertEqual(list((self.folder / "n1-state").iterdir()), [])

    def test_jobs_that_share_a_node(self):
        self.file(f"n1/{STATS}", stats(1, 10))
        self.node("n1", "prolog", "--nodes", "1")
        self.node("n1", "prolog", "--nodes", "1", job="4712")
        self.node("n1", "epilog", "--nodes", "1")
        self.node("n1", "epilog", "--nodes", "1", job="4712")
        result = iez("jobs", "collect", self.spool, "--json")
        self.assertEqual(json.loads(result.stdout)["summary"]["shared"], 2)
        self.assertIn("not alone on a node", result.stderr)

    def test_reports_killed_at_any_moment(self):
        """kill -9 while epilogs run: what the spool has is whole, and no report is there twice."""
        seed = 20261116
        generator = random.Random(seed)
        done = set()
        for number in range(25):
            job = str(number)
            self.file(f"n1/{STATS}", stats(1, 10))
            self.node("n1", "prolog", "--nodes", "1", job=job)
            self.file(f"n1/{STATS}", stats(2, 10 + number + 1))
            process = subprocess.Popen([IEZ, "jobs", "epilog", "--root", self.folder / "n1", "--state", self.folder / "n1-state", "--node", "n1",
                                        "--job", job, "--nodes", "1", "--spool", self.spool], stderr=subprocess.DEVNULL)
            time.sleep(generator.uniform(0, 0.03))
            process.send_signal(signal.SIGKILL)
            if process.wait(timeout=PATIENCE) == 0:
                done.add(job)
        self.run_job("n1", (1, 10), (2, 1010), "--nodes", "1", job="last")
        result = self.collect()
        rows = {row["job"]: row["write_bytes"] for row in result["jobs"]}
        self.assertLessEqual(done | {"last"}, set(rows), seed)
        self.assertEqual(rows.pop("last"), 1000)
        self.assertEqual(rows, {job: int(job) + 1 for job in rows})
        self.assertEqual((result["summary"]["damaged_bytes"], result["summary"]["torn_bytes"]), (0, 0))

    def test_damage_is_told_of(self):
        self.run_job("n1", (1, 10), (2, 30), "--nodes", "1")
        [path] = self.spool.glob("*.spool")
        path.write_bytes(b"x" * 100 + path.read_bytes())
        result = iez("jobs", "collect", self.spool, "--json")
        self.assertEqual(json.loads(result.stdout)["summary"]["damaged_bytes"], 100)
        self.assertIn("100 damaged bytes", result.stderr)

    def test_what_sacct_knows(self):
        self.run_job("n1", (1, 10), (2, 30))
        now = int(time.time())
        facts = self.file("sacct", f"JobIDRaw|UID|Start|End|NNodes|AllocTRES\n4711|55|{now - 10}|{now + 10}|1|mem=4G\n")
        [row] = self.collect("--sacct", facts)["jobs"]
        self.assertEqual((row["user"], row["started"], row["ended"], row["memory"]), ("55", now - 10, now + 10, 4 << 30))


class Scripts(folder_case.FolderCase):
    """Those for PBS and Flux, as installed, without PATH. Slurm's are run by Slurm: jobs_slurm_test.py."""

    def script(self, name, *arguments, **variables):
        text = (ROOT / f"packaging/{name}.sh.in").read_text(encoding="utf-8")
        text = text.replace("@CMAKE_INSTALL_FULL_BINDIR@/iez", IEZ).replace("/etc/iez/jobs.env", str(self.folder / "env"))
        path = self.file(f"{name}.sh", text)
        path.chmod(0o755)
        result = subprocess.run([path, *arguments], env=variables, capture_output=True, text=True, check=False, timeout=PATIENCE, cwd="/")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def run_job(self, before, after, *arguments, **variables):
        self.file(f"node/{STATS}", stats(1, 10))
        self.script(before, *arguments, **variables)
        self.file(f"node/{STATS}", stats(3, 50))
        self.script(after, *arguments, **variables)
        return {row["job"]: row for row in json.loads(iez("jobs", "collect", self.folder / "spool", "--json", "--wait", "0s").stdout)["jobs"]}

    def test_pbs_and_flux(self):
        self.file("env", f"IEZ_JOBS_STATE={self.folder}/state\nIEZ_JOBS_SPOOL={self.folder}/spool\nIEZ_JOBS_LOG={self.folder}/log\n"
                  f"IEZ_JOBS_OPTIONS='--root {self.folder}/node'\n")
        rows = self.run_job("pbs/prologue", "pbs/epilogue", "12.server", "root", "root")
        self.assertEqual((rows["12.server"]["user"], rows["12.server"]["write_bytes"]), ("0", 40))
        rows = self.run_job("flux/prolog", "flux/epilog", FLUX_JOB_ID="f23", FLUX_JOB_USERID="1000")
        self.assertEqual((rows["f23"]["user"], rows["f23"]["write_bytes"]), ("1000", 40))
        self.assertFalse((self.folder / "log").exists())
        # An epilog that nothing was prepared for: a line in the log, and nothing else.
        self.script("flux/epilog", FLUX_JOB_ID="f24")
        self.assertIn("job f24: status 1: iez jobs epilog: job f24: no prolog ran", (self.folder / "log").read_text(encoding="utf-8"))


class Sampling(folder_case.FolderCase):
    def rows(self, spool):
        if not spool.is_dir():
            return []
        return [json.loads(line) for line in iez("jobs", "spool", spool, "--json").stdout.splitlines()]

    def until(self, holds):
        for _ in range(600):
            if holds():
                return
            time.sleep(0.1)
        raise AssertionError(f"never held; the agent said: {self.said}")

    def agent(self, spool):
        """It has taken its first sample."""
        process = subprocess.Popen([IEZ, "--log-level", "debug", "agent", "--root", self.folder / "oss", "--name", "oss1",
                                    "--samples", f"ipc://{self.folder}/s", "--requests", f"ipc://{self.folder}/r", "--jobs-spool", spool,
                                    "--jobs-interval", "1s", "--jobs-cluster", "q"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.said = []

        def listen():
            for line in process.stderr:
                self.said.append(line)

        reader = threading.Thread(target=listen, daemon=True)
        reader.start()
        self.addCleanup(process.stderr.close)
        self.addCleanup(reader.join, PATIENCE)
        self.addCleanup(process.wait, PATIENCE)
        self.addCleanup(process.terminate)
        self.until(lambda: any("jobs sampled" in line for line in self.said))
        return process

    def list(self, *jobs):
        path = self.file("oss/new", job_stats(*jobs))
        target = self.folder / "oss/proc/fs/lustre/obdfilter/fs-OST0000/job_stats"
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)

    def test_the_agent(self):
        spool = self.folder / "spool"
        self.list(("4711", 1, 100))
        agent = self.agent(spool)
        self.list(("4711", 3, 700), ('"dd.1000"', 1, 5))
        self.until(lambda: len(self.rows(spool)) == 2)
        rows = {row["job"]: row for row in self.rows(spool)}
        self.assertEqual((rows["4711"]["write_bytes"], rows["4711"]["write_calls"], rows["4711"]["target"], rows["4711"]["cluster"]),
                         (600, 2, "fs-OST0000", "q"))
        self.assertEqual((rows["dd.1000"]["user"], rows["dd.1000"]["write_bytes"]), ("1000", 5))
        self.assertTrue(next(spool.iterdir()).name.startswith("iez-jobs-oss1-"))
        # What was done until it ends is not lost.
        self.list(("4711", 4, 750), ('"dd.1000"', 1, 5))
        agent.terminate()
        self.assertEqual(agent.wait(PATIENCE), 0)
        self.assertEqual(sum(row["write_bytes"] for row in self.rows(spool) if row["job"] == "4711"), 650)

    def test_a_spool_that_takes_nothing_for_a_while(self):
        blocked = self.file("blocked", "a file")
        self.list(("4711", 1, 100))
        self.agent(blocked / "spool")
        self.list(("4711", 3, 700))
        self.until(lambda: any("rows of jobs wait for the spool" in line for line in self.said))
        blocked.unlink()
        self.until(lambda: sum(row["write_bytes"] for row in self.rows(blocked / "spool")) == 600)


class Import(folder_case.FolderCase):
    def run_import(self, *arguments, **options):
        self.out = self.folder / "out"
        result = iez("jobs", "import", "--out", self.out, "--json", *arguments, **options)
        return json.loads(result.stdout) if result.returncode == 0 else result

    def rows(self):
        return [json.loads(line) for line in iez("jobs", "spool", self.out, "--json").stdout.splitlines()]

    def test_sacct(self):
        fields = "JobID,JobName,User,Partition,NodeList,NNodes,NCPUs,NTasks,State,Submit,Start,End,Timelimit,Elapsed,TotalCPU,CPUTime,UserCPU," \
                 "SystemCPU,ReqMem,MaxRSS,MaxVMSize,ReqTRES,AllocTRES,TRESUsageInMax,TRESUsageInTot,TRESUsageOutTot" + ",x" * 11
        told = self.run_import("--format", "sacct", "--delimiter", "\N{SNOWMAN}", "--fields", fields, "--zone", "+01:00", "--cluster", "hb",
                               DATA / "jobs/sacct-hb.txt")
        self.assertEqual((told["jobs"], told["unfinished_jobs"], told["skipped_rows"]), (87, 13, 0))
        rows = {row["job"]: row for row in self.rows()}
        self.assertEqual(rows["5908801_3"]["started"], 1698959810 - 3600)
        self.assertEqual(rows["5908801_3"]["cluster"], "hb")

    def test_influx(self):
        text = "".join(f"lustre2,host=oss1,jobid=a\\,b\\ \N{ROCKET},name=fs-OST0001 jobstats_write_bytes={value}i {1794830400 + 60 * i}000000000\n"
                       for i, value in enumerate((5, 105, 105, 7)))
        told = self.run_import("--format", "influx", self.file("dump", text))
        self.assertEqual((told["series_rows"], told["restarted"]), (2, 1))
        self.assertEqual([(row["job"], row["write_bytes"], row["seconds"]) for row in self.rows()],
                         [("a,b \N{ROCKET}", 100, 60), ("a,b \N{ROCKET}", 7, 60)])

    def test_csv(self):
        odd = ODD.replace('"', '""')
        text = f'time,target,jobid,open\n2026-11-16T12:00:00,fs-MDT0000,"{odd}",5\n2026-11-16T12:01:00,fs-MDT0000,"{odd}",9\n'
        self.assertEqual(self.run_import("--format", "csv", self.file("dump", text))["series_rows"], 1)
        [row] = self.rows()
        self.assertEqual((row["job"], row["open"], row["time"]), (ODD, 4, 1794830460))

    def test_nonsense(self):
        noise = self.file("noise", bytes(random.Random(7).randrange(256) for _ in range(20000)))
        for form in ("influx", "prometheus"):
            told = self.run_import("--format", form, noise)
            self.assertEqual((told["jobs"], told["series_rows"]), (0, 0))
        for form in ("sacct", "csv"):
            iez("jobs", "import", "--format", form, "--out", self.out, noise, status=1)
        iez("jobs", "import", "--format", "sacct", self.folder / "nowhere", status=1)
        for wrong in (("--format", "lmt", noise), ("--format", "xml", noise), ("--format", "csv"), ("--format", "csv", "--zone", "Mars", noise),
                      ("--format", "sacct", "--url", "http://x"), ("--format", "prometheus", "--url", "http://127.0.0.1:1"), (noise,)):
            iez("jobs", "import", *wrong, status=2)

    def test_scrapes(self):
        files = []
        for at, value in ((1794830400, 100), (1794830460, 350)):
            path = self.file(f"scrape{at}", f'lustre_job_write_bytes_total{{component="ost",jobid="7",target="fs-OST0001"}} {value}\n')
            os.utime(path, (at, at))
            files.append(path)
        self.run_import("--format", "prometheus", *files)
        self.assertEqual([(row["job"], row["write_bytes"], row["time"]) for row in self.rows()], [("7", 250, 1794830460)])

    @unittest.skipUnless(shutil.which("prometheus"), "no Prometheus here")
    def test_a_real_prometheus(self):
        """An exporter whose counters grow with each scrape; what Prometheus kept of it comes back as rows with the same sums."""
        seen = []

        class Exporter(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # pylint: disable=invalid-name
                seen.append(1000 * len(seen))
                body = (f'lustre_job_write_bytes_total{{component="ost",jobid="a\\"b",operation="write_bytes",target="fs-OST0001"}} {seen[-1]}\n'
                        f'lustre_job_stats_total{{component="mdt",jobid="a\\"b",operation="mkdir",target="fs-MDT0000"}} {len(seen)}\n').encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments):  # pylint: disable=arguments-differ
                pass

        exporter = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exporter)
        threading.Thread(target=exporter.serve_forever, daemon=True).start()
        self.addCleanup(exporter.server_close)
        self.addCleanup(exporter.shutdown)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        config = self.file("prometheus.yml", "scrape_configs:\n- job_name: lustre\n  scrape_interval: 1s\n  static_configs:\n"
                           f"  - targets: ['127.0.0.1:{exporter.server_address[1]}']\n")
        prometheus = subprocess.Popen(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={self.folder / 'tsdb'}",
                                       f"--web.listen-address=127.0.0.1:{port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(prometheus.wait, PATIENCE)
        self.addCleanup(prometheus.kill)
        started = int(time.time())
        for _ in range(600):
            if len(seen) >= 6:
                break
            time.sleep(0.1)
        self.assertGreaterEqual(len(seen), 6)
        asked = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        for _ in range(100):
            asked.request("GET", "/api/v1/query?query=lustre_job_write_bytes_total")
            found = json.loads(asked.getresponse().read())["data"]["result"]
            if found and float(found[0]["value"][1]) >= 4000:
                break
            time.sleep(0.1)
        end = int(time.time())
        asked.close()
        told = self.run_import("--format", "prometheus", "--url", f"http://127.0.0.1:{port}", "--from", started - 5, "--to", end, "--step", "1s")
        self.assertGreater(told["series_rows"], 1)
        written = [row for row in self.rows() if row["target"] == "fs-OST0001"]
        self.assertEqual({row["job"] for row in written}, {'a"b'})
        total = sum(row["write_bytes"] for row in written)
        self.assertEqual(total % 1000, 0)
        self.assertGreaterEqual(total, 3000)
        self.assertLessEqual(total, seen[-1])
        self.assertEqual(sum(row["mkdir"] for row in self.rows()) * 1000, total)
        iez("jobs", "import", "--format", "prometheus", "--url", "http://127.0.0.1:1", "--from", "0", status=1)

    @unittest.skipUnless(shutil.which("mariadb-install-db"), "no MariaDB here")
    def test_lmt_in_a_real_mariadb(self):
        url, said = start_mariadb(self)
        said("""USE iez;
            CREATE TABLE OST_INFO (OST_ID INTEGER PRIMARY KEY, OSS_ID INTEGER, OST_NAME VARCHAR(128));
            CREATE TABLE MDS_INFO (MDS_ID INTEGER PRIMARY KEY, FILESYSTEM_ID INTEGER, MDS_NAME VARCHAR(128));
            CREATE TABLE OPERATION_INFO (OPERATION_ID INTEGER PRIMARY KEY, OPERATION_NAME VARCHAR(64), UNITS VARCHAR(16));
            CREATE TABLE TIMESTAMP_INFO (TS_ID INT UNSIGNED PRIMARY KEY, TIMESTAMP DATETIME NOT NULL);
            CREATE TABLE OST_DATA (OST_ID INTEGER, TS_ID INT UNSIGNED, READ_BYTES BIGINT, WRITE_BYTES BIGINT, PRIMARY KEY (OST_ID, TS_ID));
            CREATE TABLE MDS_OPS_DATA (MDS_ID INTEGER, TS_ID INT UNSIGNED, OPERATION_ID INTEGER, SAMPLES BIGINT, SUM BIGINT, SUMSQUARES BIGINT);
            INSERT INTO OST_INFO VALUES (1, 1, 'lc1-OST0000'), (2, 1, 'lc1-OST0001');
            INSERT INTO MDS_INFO VALUES (1, 1, 'lc1-MDT0000');
            INSERT INTO OPERATION_INFO VALUES (1, 'mkdir', 'reqs'), (2, 'getattr', 'reqs');
            INSERT INTO TIMESTAMP_INFO VALUES (1, '2026-11-16 12:00:00'), (2, '2026-11-16 12:00:05'), (3, '2026-11-16 12:00:10');
            INSERT INTO OST_DATA VALUES (1, 1, 10, 1000), (1, 2, 10, 1500), (1, 3, 30, 200), (2, 1, NULL, NULL), (2, 2, 5, 9), (2, 3, 5, 10);
            INSERT INTO MDS_OPS_DATA VALUES (1, 1, 1, 3, 0, 0), (1, 2, 1, 8, 0, 0), (1, 2, 2, 99, 0, 0);""")
        told = self.run_import("--format", "lmt", "--url", url, "--zone", "+01:00", "--cluster", "lc")
        self.assertEqual(told["skipped_rows"], 0)
        rows = {(row["target"], row["time"] - 1794826800): row for row in self.rows()}
        self.assertEqual(sorted(rows), [("lc1-MDT0000", 5), ("lc1-OST0000", 5), ("lc1-OST0000", 10), ("lc1-OST0001", 10)])
        self.assertEqual(rows["lc1-OST0000", 5]["write_bytes"], 500)
        self.assertEqual((rows["lc1-OST0000", 10]["write_bytes"], rows["lc1-OST0000", 10]["seconds"]), (200, 5))  # the server was restarted
        self.assertEqual(rows["lc1-OST0001", 10]["write_bytes"], 1)
        self.assertEqual((rows["lc1-MDT0000", 5]["mkdir"], rows["lc1-MDT0000", 5]["job"]), (5, ""))
        # Of a site that has nothing else.
        store, page = self.folder / "store", self.folder / "report.html"
        iez("jobs", "ingest", self.out, "--store", store)
        report = json.loads(iez("jobs", "report", "--store", store, "--out", page, "--json").stdout)
        self.assertIn("On lc, servers in the hour from 11:00 move the most", report["analyses"][8]["finding"])
        self.assertIn("samples from 2026-11-16 11:00", page.read_text())
        self.assertEqual(self.run_import("--format", "lmt", "--url", url, "--from", "2027-01-01 00:00:00")["series_rows"], 0)
        iez("jobs", "import", "--format", "lmt", "--url", url.replace("/iez?", "/nowhere?"), status=1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
