"""A program on a terminal, for the tests of what people see."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time


def set_size(terminal, rows, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


class Session:
    """A program on a terminal of its own, of so many columns, with keys. Options may take stdin or stdout away from it."""

    def __init__(self, command, columns=80, rows=24, **options):
        self.master, slave = pty.openpty()
        set_size(slave, rows, columns)
        self.usual = termios.tcgetattr(slave)
        self.kept = os.dup(slave)  # so that the settings can be read when the program is gone
        options = {"stdin": slave, "stdout": slave, **options}
        self.process = subprocess.Popen([str(word) for word in command], stderr=slave, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(2, termios.TIOCSCTTY, 0), **options)
        os.close(slave)
        self.seen = ""

    def until(self, text, limit=20):
        """All that was shown since the last time, which has the text in it."""
        end = time.monotonic() + limit
        while text not in self.seen:
            ready, _, _ = select.select([self.master], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise AssertionError(f"no {text!r} in {self.seen!r}")
            self.seen += os.read(self.master, 65536).decode("utf-8", "replace")
        shown, self.seen = self.seen, ""
        return shown

    def rest(self):
        """All that is shown until the program ends."""
        while True:
            try:
                part = os.read(self.master, 65536) if select.select([self.master], [], [], 0 if self.process.poll() is not None else 0.2)[0] else b""
            except OSError:  # nobody writes any more
                part = b""
            self.seen += part.decode("utf-8", "replace")
            if not part and self.process.poll() is not None:
                shown, self.seen = self.seen, ""
                return shown

    def type(self, keys):
        os.write(self.master, keys.encode())

    def is_as_before(self):
        now = termios.tcgetattr(self.kept)
        return now[3] == self.usual[3]

    def end(self, limit=20):
        """Its exit status."""
        try:
            return self.process.wait(limit)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait(5)

    def close(self):
        os.close(self.master)
        os.close(self.kept)


def output_on_terminal(command, **options):
    """What the command shows, and its exit status. stderr goes to the terminal, too, unless the options say otherwise."""
    master, slave = pty.openpty()
    set_size(slave, options.pop("rows", 24), options.pop("columns", 0))
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
