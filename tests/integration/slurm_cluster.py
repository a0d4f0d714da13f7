"""A Slurm of its own for a test: munged, slurmctld and some slurmd on loopback, ended with the test."""

import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

PATH = "/usr/sbin:/usr/bin:/sbin:/bin:" + os.environ["PATH"]
CAN_RUN = os.geteuid() == 0 and all(shutil.which(name, path=PATH) for name in ("munged", "slurmctld", "slurmd", "sbatch"))


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class SlurmCluster:
    """Nodes n1, n2, ... on this host; `prolog` and `epilog` are paths of scripts."""

    def __init__(self, case, nodes, prolog, epilog):
        folder = tempfile.TemporaryDirectory(prefix="iez-slurm-")
        case.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.folder.chmod(0o755)
        self.case = case
        self.started = 0
        self.nodes = [f"n{number + 1}" for number in range(nodes)]
        self.start_munge()
        self.write_configuration(prolog, epilog)
        self.environment = {**os.environ, "PATH": PATH, "SLURM_CONF": str(self.folder / "slurm.conf")}
        self.start("slurmctld", "-D")
        for node in self.nodes:
            self.start("slurmd", "-D", "-N", node)
        self.wait(lambda: self.run("sinfo", "-h", "-N", "-o", "%N %T").stdout.split() ==
                  [word for node in self.nodes for word in (node, "idle")], "the nodes are idle")

    def start(self, program, *arguments):
        self.started += 1
        with open(self.folder / f"{self.started}-{program}.out", "wb") as output:
            process = subprocess.Popen([shutil.which(program, path=PATH), *arguments], stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, env=self.environment)
        self.case.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(timeout=20)

    def start_munge(self):
        munge = self.folder / "munge"
        munge.mkdir(mode=0o755)
        key = munge / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        self.environment = {**os.environ, "PATH": PATH}
        self.start("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={munge}/s", f"--pid-file={munge}/pid",
                   f"--log-file={munge}/log", f"--seed-file={munge}/seed")
        self.wait(lambda: (munge / "s").exists(), "munged answers")

    def write_configuration(self, prolog, epilog):
        host = socket.gethostname().split(".")[0]
        ports = free_ports(2 + len(self.nodes))
        lines = [
            "ClusterName=lab", f"SlurmctldHost={host}(127.0.0.1)", f"SlurmctldPort={ports[0]}", f"SlurmdPort={ports[1]}",
            "SlurmUser=root", "SlurmdUser=root", "AuthType=auth/munge", f"AuthInfo=socket={self.folder}/munge/s", "CredType=cred/munge",
            f"StateSaveLocation={self.folder}/state", f"SlurmdSpoolDir={self.folder}/spool-%n", f"SlurmctldPidFile={self.folder}/ctld.pid",
            f"SlurmdPidFile={self.folder}/slurmd-%n.pid", "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none",
            "SwitchType=switch/none", "MpiDefault=none", "ReturnToService=2", "SelectType=select/linear",
            "AccountingStorageType=accounting_storage/none", "JobAcctGatherType=jobacct_gather/none", f"Prolog={prolog}", f"Epilog={epilog}",
            "PrologFlags=Alloc",
            *(f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 State=UNKNOWN"
              for node, port in zip(self.nodes, ports[2:])),
            f"PartitionName=all Nodes={','.join(self.nodes)} Default=YES MaxTime=INFINITE State=UP",
        ]
        (self.folder / "state").mkdir()
        (self.folder / "slurm.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def run(self, *command):
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=self.environment,
                              stdin=subprocess.DEVNULL)

    def submit(self, script, *options):
        """The number of the job."""
        path = self.folder / f"job-{time.monotonic_ns()}.sh"
        path.write_text("#!/bin/bash\n" + script, encoding="utf-8")
        result = self.run("sbatch", "--parsable", "-o", str(path.with_suffix(".out")), *options, str(path))
        assert result.returncode == 0, result.stderr
        return result.stdout.strip().split(";")[0]

    def wait_for_the_end(self):
        """No job is left, and every epilog has run: nodes are idle again."""
        self.wait(lambda: self.run("squeue", "-h").stdout == "" and
                  set(self.run("sinfo", "-h", "-N", "-o", "%T").stdout.split()) == {"idle"}, "all jobs have ended")

    def logs(self):
        return "\n".join(f"== {path.name}\n{path.read_text(encoding='utf-8', errors='replace')[-3000:]}"
                         for path in sorted(self.folder.glob("*.out")))

    def wait(self, holds, what):
        for _ in range(600):
            if holds():
                return
            time.sleep(0.2)
        raise AssertionError(f"waited in vain: {what}\n{self.logs()}")
