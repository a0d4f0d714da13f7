"""A program on a terminal, for the tests of what people see."""

import os
import pty
import subprocess


def output_on_terminal(command, **options):
    """What the command shows, and its exit status. stderr goes to the terminal, too, unless the options say otherwise."""
    master, slave = pty.openpty()
    try:
        options = {"stdin": subprocess.DEVNULL, "stderr": slave, **options}
        with subprocess.Popen([str(word) for word in command], stdout=slave, **options) as process:
            os.close(slave)
            slave = -1
            text = b""
            while True:
                try:
                    part = os.read(master, 65536)
                except OSError:  # the other end is closed
                    break
                if not part:
                    break
                text += part
            return text.decode("utf-8"), process.wait(timeout=60)
    finally:
        os.close(master)
        if slave >= 0:
            os.close(slave)
