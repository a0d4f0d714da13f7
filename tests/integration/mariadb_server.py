"""A MariaDB of its own for a test: on a socket below a temporary folder, ended with the test."""

import getpass
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

PROGRAM = shutil.which("mariadbd", path="/usr/sbin:" + os.environ["PATH"])


def start_mariadb(case):
    """The URL of an empty database, once the server answers, and a function that gives what a statement prints."""
    folder = tempfile.TemporaryDirectory(prefix="iez-mariadb-")
    case.addCleanup(folder.cleanup)
    data = pathlib.Path(folder.name)
    data.chmod(0o755)
    user = getpass.getuser()
    subprocess.run(["mariadb-install-db", "--no-defaults", f"--datadir={data}/data", "--user=" + user,
                    "--auth-root-authentication-method=normal", "--skip-test-db"], capture_output=True, check=True, timeout=120)
    server = subprocess.Popen([PROGRAM, "--no-defaults", f"--datadir={data}/data", f"--socket={data}/s", "--skip-networking",
                               "--user=" + user, "--innodb-buffer-pool-size=32M", "--innodb-log-file-size=16M",
                               f"--pid-file={data}/pid"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    case.addCleanup(server.wait, 60)
    case.addCleanup(server.terminate)
    client = ["mariadb", "--no-defaults", "-u", "root", f"--socket={data}/s", "-N", "-B", "-e"]
    for _ in range(300):
        made = subprocess.run([*client, "CREATE DATABASE IF NOT EXISTS iez"], capture_output=True, check=False, timeout=60)
        if made.returncode == 0:
            break
        time.sleep(0.1)
    else:
        raise AssertionError("MariaDB did not start")

    def said(statement):
        return subprocess.run([*client, statement], capture_output=True, text=True, check=True, timeout=60).stdout

    return f"mysql://root@localhost/iez?socket={data}/s", said
