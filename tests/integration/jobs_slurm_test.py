#!/usr/bin/env python3
"""iez jobs prolog and epilog in a real Slurm: the scripts as they are shipped, on counters of a tree and of a lab."""

import json
import os
import pathlib
import shutil
import subprocess
import unittest

import folder_case
from slurm_cluster import CAN_RUN, SlurmCluster

ROOT = pathlib.Path(os.environ.get("IEZ_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
IEZ = str(pathlib.Path(os.environ.get("IEZ", ROOT / "build/dev/apps/iez/iez")).resolve())
CAN_MOUNT = os.path.exists("/dev/fuse") and shutil.which("fusermount3") is not None
STATS = """snapshot_time             {now}.000000000 secs.nsecs
start_time                1794728300.953449625 secs.nsecs
write_bytes               {calls} samples [bytes] 4096 1048576 {written} 158333029842944
open                      {calls} samples [usecs] 21 49468 489636 8579957930
"""
# What a job does to the counters of its node.
WRITER = """import os, pathlib, sys
[path] = pathlib.Path(sys.argv[1], os.environ["SLURMD_NODENAME"]).rglob("stats")
path.write_text(sys.argv[2].replace("NL", chr(10)))
"""


def iez(*arguments):
    result = subprocess.run([IEZ, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=60, stdin=subprocess.DEVNULL)
    assert result.returncode == 0, result.stderr
    return result.stdout


def stats(calls, written):
    return STATS.format(now=1794728900, calls=calls, written=written)


@unittest.skipUnless(CAN_RUN, "needs root, and slurm-wlm and munge: tools/setup test")
class InSlurm(folder_case.FolderCase):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.spool = self.folder / "spool"
        self.log = self.folder / "log"

    def script(self, name, variables):
        """A shipped script, as installed."""
        text = (ROOT / f"packaging/slurm/{name}.sh.in").read_text(encoding="utf-8")
        settings = self.file(f"{name}.env", "".join(f"{key}={value}\n" for key, value in variables.items()))
        text = text.replace("@CMAKE_INSTALL_FULL_BINDIR@/iez", IEZ).replace("/etc/iez/jobs.env", str(settings))
        path = self.file(f"{name}.sh", text)
        path.chmod(0o755)
        return path

    def scripts(self, roots):
        variables = {"IEZ_JOBS_STATE": f"{self.folder}/state-$SLURMD_NODENAME", "IEZ_JOBS_SPOOL": self.spool, "IEZ_JOBS_LOG": self.log,
                     "IEZ_JOBS_OPTIONS": f'"--root {roots}"'}
        return [self.script(name, variables) for name in ("prolog", "epilog")]

    def said(self):
        return self.log.read_text(encoding="utf-8") if self.log.exists() else ""

    def rows(self, *options):
        return {row["job"]: row for row in json.loads(iez("jobs", "collect", self.spool, "--json", *options))["jobs"]}

    def test_a_job_on_two_nodes(self):
        for node, written in (("n1", 1000), ("n2", 5000)):
            self.file(f"{node}/sys/kernel/debug/lustre/llite/fs-ffff888100000000/stats", stats(10, written))
        slurm = SlurmCluster(self, 2, *self.scripts(f"{self.folder}/$SLURMD_NODENAME"))
        writer = self.file("writer.py", WRITER)
        job = slurm.submit(f"srun python3 {writer} {self.folder} '{stats(25, 1005000)}'\n", "-N", "2", "-n", "2")
        slurm.wait_for_the_end()
        self.assertEqual(self.said(), "")
        row = self.rows()[job]
        self.assertEqual((row["cluster"], row["user"], row["nodes"], row["silent_nodes"]), ("lab", "0", 2, 0), slurm.logs())
        self.assertEqual((row["write_bytes"], row["write_calls"], row["open"]), (1004000 + 1000000, 30, 30))
        self.assertLessEqual(row["started"], row["ended"])
        self.assertEqual({path.name.rsplit("-", 1)[0] for path in self.spool.iterdir()}, {"iez-jobs-n1", "iez-jobs-n2"})

    def test_what_goes_wrong_does_not_stop_a_job(self):
        """No counters, no room for the state: jobs run, nodes stay up, and the log tells."""
        blocked = self.file("blocked", "a file, where a folder should be")
        variables = {"IEZ_JOBS_STATE": blocked / "state", "IEZ_JOBS_SPOOL": self.spool, "IEZ_JOBS_LOG": self.log}
        slurm = SlurmCluster(self, 1, *(self.script(name, variables) for name in ("prolog", "epilog")))
        done = self.folder / "done"
        slurm.submit(f"touch {done}\n")
        slurm.wait_for_the_end()
        self.assertTrue(done.exists(), slurm.logs())
        self.assertIn("iez jobs prolog: job 1: status 1:", self.said())
        self.assertIn("blocked", self.said())
        self.script("prolog", {"IEZ_JOBS_STATE": "$((", "IEZ_JOBS_LOG": self.log})  # a file that no shell can read
        slurm.submit(f"touch {done}2\n")
        slurm.wait_for_the_end()
        self.assertTrue(pathlib.Path(f"{done}2").exists(), slurm.logs())

    @unittest.skipUnless(CAN_MOUNT, "needs /dev/fuse and fusermount3")
    def test_two_jobs_on_a_lab(self):
        """The bytes that jobs really wrote, per job by their nodes, and per interval by the servers."""
        lab = self.folder / "lab"
        self.addCleanup(subprocess.run, [IEZ, "lab", "down", "--dir", lab], capture_output=True, check=False, timeout=60)
        iez("lab", "up", "--dir", lab, "--oss", 1, "--osts", 2, "--clients", 2, "--ost-size", "256M", "--job-variable", "SLURM_JOB_ID")
        mounts = json.loads(iez("lab", "status", "--dir", lab, "--json"))
        clients = {f"n{number + 1}": node for number, node in enumerate(n for n in mounts["nodes"] if "mount" in n)}
        self.assertEqual(sorted(clients), ["n1", "n2"], mounts)
        roots = self.folder / "roots"
        roots.mkdir()
        for node, client in clients.items():
            (roots / node).symlink_to(client["params"])
            (roots / f"{node}-mount").symlink_to(client["mount"])
        sampled = self.folder / "sampled"
        agent = subprocess.Popen([IEZ, "agent", "--root", lab / "params/oss0", "--root", lab / "params/mds", "--samples", f"ipc://{self.folder}/s",
                                  "--requests", f"ipc://{self.folder}/r", "--jobs-spool", sampled, "--jobs-interval", "1s", "--jobs-cluster", "lab"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(agent.stderr.close)
        self.addCleanup(agent.wait, 60)
        self.addCleanup(agent.terminate)
        slurm = SlurmCluster(self, 2, *self.scripts(f"{roots}/$SLURMD_NODENAME"))
        write = f"srun bash -c 'dd if=/dev/zero of={roots}/$SLURMD_NODENAME-mount/$SLURM_JOB_ID-$SLURMD_NODENAME bs=1M count={{}} conv=fsync; sleep 3'\n"
        first = slurm.submit(write.format(8), "-N", "2", "-n", "2")
        slurm.wait_for_the_end()
        second = slurm.submit(write.format(3), "-N", "1", "-n", "1")
        slurm.wait_for_the_end()
        self.assertEqual(self.said(), "")
        rows = self.rows()
        self.assertEqual({job: rows[job]["write_bytes"] for job in (first, second)}, {first: 16 << 20, second: 3 << 20}, slurm.logs())

        def series():
            written = {}
            lines = iez("jobs", "spool", sampled, "--json") if sampled.exists() else ""
            for line in lines.splitlines():
                row = json.loads(line)
                written[row["job"]] = written.get(row["job"], 0) + row["write_bytes"]
            return written

        slurm.wait(lambda: series().get(second) == 3 << 20, "the agent has seen both jobs")
        self.assertEqual({job: series()[job] for job in (first, second)}, {first: 16 << 20, second: 3 << 20})


if __name__ == "__main__":
    unittest.main(verbosity=2)
