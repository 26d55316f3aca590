"""Run from sdk/python: python3 -m unittest discover -s tests"""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import muster  # noqa: E402


class Number:
    """What numpy and torch scalars have in common."""

    def __init__(self, value):
        self.value = value

    def __float__(self):
        return float(self.value)

    def __int__(self):
        return int(self.value)


class Task(unittest.TestCase):
    """Each test is a task of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = Path(folder.name)
        self.file = self.dir / "report.jsonl"
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        for name in [n for n in os.environ if n.startswith("MUSTER_")]:
            del os.environ[name]
        os.environ["MUSTER_REPORT_FILE"] = str(self.file)
        muster._complained = False

    def lines(self):
        return [json.loads(line) for line in self.file.read_text().splitlines()]

    def fresh(self, code, **env):
        """Run code in a Python that sees these variables when it imports muster."""
        path = str(Path(muster.__file__).parent.parent)
        clean = {n: v for n, v in os.environ.items() if not n.startswith("MUSTER_")}
        done = subprocess.run([sys.executable, "-c", code], env={**clean, "PYTHONPATH": path, **env},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()


class Reports(Task):
    def test_each_report_is_a_line(self):
        muster.report(step=1, total=10, text="epoch 1", loss=0.5)
        muster.report(2, 10)
        muster.report(accuracy=Number(0.25), step=Number(3))
        self.assertEqual(self.lines(), [{"step": 1, "total": 10, "text": "epoch 1", "loss": 0.5}, {"step": 2, "total": 10},
                                        {"step": 3, "accuracy": 0.25}])

    def test_numbers_that_json_lacks_are_written_as_python_does(self):
        muster.report(loss=float("nan"), x=float("-inf"))
        self.assertEqual(self.file.read_text(), '{"loss":NaN,"x":-Infinity}\n')

    def test_what_is_no_number_is_left_out_and_told_once(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            for step in (1, 2):
                muster.report(step=step, loss=object())
        self.assertEqual(self.lines(), [{"step": 1}, {"step": 2}])
        self.assertEqual(said.getvalue().count("muster: loss is left out of a report"), 1, said.getvalue())

    def test_nothing_to_say_writes_nothing(self):
        muster.report()
        muster.report(step=None, loss=None)
        self.assertFalse(self.file.exists())

    def test_a_disk_that_takes_nothing_is_told_once_and_raises_nothing(self):
        if not os.path.exists("/dev/full"):
            self.fail("this test needs /dev/full")
        os.environ["MUSTER_REPORT_FILE"] = "/dev/full"
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            for step in range(3):
                muster.report(step=step)
        self.assertEqual(said.getvalue(), "muster: a report is lost: [Errno 28] No space left on device\n")

    def test_a_directory_that_is_gone_raises_nothing(self):
        os.environ["MUSTER_REPORT_FILE"] = str(self.dir / "gone" / "report.jsonl")
        with contextlib.redirect_stderr(io.StringIO()) as said:
            muster.report(step=1)
            muster.publish("dashboard", "http://x")
        self.assertEqual(said.getvalue().count("muster: "), 1)

    def test_threads_and_forks_do_not_mix_their_lines(self):
        def many():
            for step in range(200):
                muster.report(step=step, text="x" * 500)

        children = []
        for _ in range(2):
            pid = os.fork()
            if pid == 0:
                many()
                os._exit(0)
            children.append(pid)
        threads = [threading.Thread(target=many) for _ in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for pid in children:
            self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertEqual(len(self.lines()), 800)  # each of them whole: json would not read others

    def test_a_report_costs_microseconds(self):
        begin = time.perf_counter()
        for step in range(2000):
            muster.report(step=step, total=2000, loss=0.5)
        each = (time.perf_counter() - begin) / 2000
        print("a report takes %.1f µs" % (each * 1e6), file=sys.stderr)
        self.assertLess(each, 1e-3)  # far from what it takes: the machine may be busy


class Publishing(Task):
    def test_a_key_and_a_value(self):
        muster.publish("dashboard", "http://host:1/")
        self.assertEqual(self.lines(), [{"publish": {"key": "dashboard", "value": "http://host:1/"}}])

    def test_ready_makes_the_file(self):
        os.environ["MUSTER_READY_FILE"] = str(self.dir / "ready")
        muster.ready()
        muster.ready()
        self.assertEqual((self.dir / "ready").read_bytes(), b"")


class Facts(Task):
    ALL = "import muster; print(muster.job, muster.task, muster.role, muster.active, muster.rank, muster.local_rank, " \
          "muster.world_size, muster.epoch, muster.checkpoint_dir, muster.roster(), muster.deadline())"

    def test_outside_muster_everything_does_nothing(self):
        said = self.fresh(self.ALL + "; muster.report(step=1, loss=0.5); muster.publish('a', 'b'); muster.ready()")
        self.assertEqual(said, "None None None False 0 0 1 0 None None None")

    def test_in_a_task(self):
        (self.dir / "roster.json").write_text('{"world": 4}')
        (self.dir / "deadline").write_text("2030-01-02T03:04:05.123456789Z\n")
        said = self.fresh(self.ALL, MUSTER_JOB="m-1", MUSTER_TASK="worker/1", MUSTER_ROLE="worker", MUSTER_RANK="1",
                          MUSTER_LOCAL_RANK="0", MUSTER_WORLD_SIZE="4", MUSTER_EPOCH="2", MUSTER_CHECKPOINT_DIR="/c",
                          MUSTER_ROSTER=str(self.dir / "roster.json"), MUSTER_DEADLINE_FILE=str(self.dir / "deadline"))
        self.assertEqual(said, "m-1 worker/1 worker True 1 0 4 2 /c {'world': 4} 2030-01-02 03:04:05+00:00")

    def test_a_role_without_ranks_and_nobody_who_preempts(self):
        said = self.fresh("import muster; print(muster.rank, muster.deadline())", MUSTER_JOB="m-1",
                          MUSTER_DEADLINE_FILE=str(self.dir / "deadline"))
        self.assertEqual(said, "-1 None")


if __name__ == "__main__":
    unittest.main()
