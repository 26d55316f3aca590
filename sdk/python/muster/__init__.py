"""What a task of a muster job can say, and what it can know.

    import muster

    for step in range(1, steps + 1):
        ...
        muster.report(step=step, total=steps, loss=loss)

Outside muster every call does nothing, so a program needs no second version.
Nothing here raises because of muster: a report that cannot be written is lost,
and the first loss is told on standard error.
"""

import json
import os
import sys
from datetime import datetime, timezone
from typing import Any, Dict, Optional

__all__ = [
    "active",
    "checkpoint_dir",
    "deadline",
    "epoch",
    "job",
    "local_rank",
    "publish",
    "rank",
    "ready",
    "report",
    "restart_reason",
    "role",
    "roster",
    "task",
    "world_size",
]

__version__ = "0.1.0"


def _number(name: str, default: int) -> int:
    try:
        return int(os.environ.get(name, ""))
    except ValueError:
        return default


#: The job's id; None outside muster.
job: Optional[str] = os.environ.get("MUSTER_JOB")
#: This task, as in "worker/3"; None outside muster.
task: Optional[str] = os.environ.get("MUSTER_TASK")
#: The role of this task, as in "worker"; None outside muster.
role: Optional[str] = os.environ.get("MUSTER_ROLE")
#: Whether this process belongs to a task of muster.
active: bool = job is not None
#: The number of this process among all; -1 for a role without ranks, 0 outside muster.
rank: int = _number("MUSTER_RANK", -1 if active else 0)
#: The number of this process among those on the same node, in the same manner.
local_rank: int = _number("MUSTER_LOCAL_RANK", -1 if active else 0)
#: How many processes have ranks; 1 outside muster.
world_size: int = _number("MUSTER_WORLD_SIZE", 1)
#: The number of the roll call, which grows with every restart; 0 outside muster.
epoch: int = _number("MUSTER_EPOCH", 0)
#: Why this task runs again; empty the first time.
restart_reason: str = os.environ.get("MUSTER_RESTART_REASON", "")
#: A directory that outlives restarts; None outside muster.
checkpoint_dir: Optional[str] = os.environ.get("MUSTER_CHECKPOINT_DIR") or None


def report(step: Any = None, total: Any = None, *, text: Optional[str] = None, **values: Any) -> None:
    """Tell how far this task is, and any numbers worth seeing, such as loss=0.5.

    Numbers may be those of Python, numpy or torch: what float() takes. One that
    lies on a GPU is waited for by that, so report it every few steps only.
    A report takes the place of the one before: what it leaves out is not shown.
    """
    path = os.environ.get("MUSTER_REPORT_FILE")
    if not path:
        return
    line: Dict[str, Any] = {}
    for name, value in (("step", step), ("total", total)):
        if value is not None:
            _take(line, name, value, int)
    for name, value in values.items():
        if value is not None:
            _take(line, name, value, float)
    if text is not None:
        _take(line, "text", text, _text)
    if line:
        _append(path, line)


def publish(key: str, value: Any) -> None:
    """Make a value known under a key, such as the address of a dashboard.

    "muster status" shows addresses; everybody who may see the job sees them.
    """
    path = os.environ.get("MUSTER_REPORT_FILE")
    if not path:
        return
    said: Dict[str, Any] = {}
    _take(said, "key", key, str)
    _take(said, "value", value, str)
    if len(said) == 2:
        _append(path, {"publish": said})


def ready() -> None:
    """Say that others may use this task: {after: [{role: …, is: ready}]} waits for it.

    A task that listens on MUSTER_PORT need not say so.
    """
    path = os.environ.get("MUSTER_READY_FILE")
    if path:
        _write(path, b"")


def roster() -> Optional[Dict[str, Any]]:
    """Who runs where, on which ports and with which rank; None outside muster."""
    path = os.environ.get("MUSTER_ROSTER")
    if not path:
        return None
    with open(path, encoding="utf-8") as f:
        found: Dict[str, Any] = json.load(f)
    return found


def deadline() -> Optional[datetime]:
    """When this task will be killed because it is preempted; None: nobody wants that now.

    One that has saved its work and then ends with status 75 is started again elsewhere.
    """
    path = os.environ.get("MUSTER_DEADLINE_FILE")
    if not path:
        return None
    try:
        with open(path, encoding="utf-8") as f:
            said = f.read().strip()
        # Older versions of Python read no Z and no nanoseconds.
        return datetime.strptime(said[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    except (OSError, ValueError):
        return None


def _text(value: Any) -> str:
    return str(value)[:1000]


def _take(line: Dict[str, Any], name: str, value: Any, kind: Any) -> None:
    try:
        line[name] = kind(value)
    except Exception as err:
        _complain("%s is left out of a report: %s" % (name, err))


def _append(path: str, line: Dict[str, Any]) -> None:
    try:
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
    except Exception as err:
        _complain("a report is lost: %s" % err)
        return
    _write(path, data)


def _write(path: str, data: bytes) -> None:
    """Append in one write, which the kernel does not mix with those of other
    threads and processes. The file is not kept open: whoever forks, or closes
    what it does not know, can do no harm."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            if data and os.write(fd, data) < len(data):
                _complain("a report is lost: the disk is full")
        finally:
            os.close(fd)
    except OSError as err:
        _complain("a report is lost: %s" % err)


_complained = False


def _complain(what: str) -> None:
    global _complained
    if _complained:
        return
    _complained = True
    try:
        sys.stderr.write("muster: %s\n" % what)
    except Exception:  # nobody listens there
        pass
