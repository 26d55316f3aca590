#!/usr/bin/env bash
# ray.sh head|worker WORD... -- COMMAND...
#
# Starts this task's part of a Ray cluster by "ray start WORD...". On the head
# the command runs then, and its exit status is that of the task.
set -u
part=$1 words=()
shift
while [ "$1" != -- ]; do
	words+=("$1")
	shift
done
shift

# Ray's sockets lie below its temporary directory, and their names may have 107
# bytes. /proc/PID/cwd is short and leads into the task's own directory for as
# long as this shell stays there; nothing of it is left to be cleaned up.
work=$PWD
mkdir -p "$MUSTER_DIR/ray" && cd "$MUSTER_DIR/ray" || exit 126
case $part in
head) read -r -a more <<<"${RAY_HEAD_ARGS:-}" ;;
worker) read -r -a more <<<"${RAY_WORKER_ARGS:-}" ;;
esac
words+=(--temp-dir "/proc/$$/cwd" ${more[@]+"${more[@]}"})
log=$MUSTER_DIR/ray-start.log

# Signals go to all of us. The command decides what they mean, so this shell
# stays until it has ended, and Ray on the head must not leave before it: it is
# in a session of its own, and ends itself if it cannot start.
#
# Ray gives up if its agent does not write within 15 seconds on which port it
# listens, which is little where many processes start at once or Python comes
# from a slow disk. The port was chosen by us, so we write it.
trap : TERM INT HUP QUIT USR1 USR2
start='
import os, signal, sys, traceback
head = sys.argv[2] == "--head"
if head:
    os.setsid()
from ray.scripts.scripts import main
try:
    from ray._private.node import Node
    from ray._raylet import DASHBOARD_AGENT_LISTEN_PORT_NAME, persist_port
    start_raylet = Node.start_raylet
    def started(self, *args, **named):
        persist_port(self._session_dir, self._node_id, DASHBOARD_AGENT_LISTEN_PORT_NAME, self._ray_params.dashboard_agent_listen_port)
        return start_raylet(self, *args, **named)
    Node.start_raylet = started
except (ImportError, AttributeError):
    pass
try:
    main()
except BaseException as end:
    if not isinstance(end, SystemExit):
        traceback.print_exc()
    if head and getattr(end, "code", 1):
        sys.stdout.flush()
        os.killpg(0, signal.SIGKILL)
    raise
'
ray() (
	cd "$work" || exit
	PYTHONPATH=$work${PYTHONPATH:+:$PYTHONPATH} exec python3 -c "$start" start "$@" >"$log" 2>&1
)

if [ "$part" = worker ]; then
	ray "${words[@]}" --block
	status=$?
	[ $status = 0 ] || tail -n 20 "$log" >&2
	exit $status
fi
# Ray has other short times. A worker that does not start is started again by
# muster; the head is so here.
tries=3
until ray --head "${words[@]}" 2>/dev/null; do
	tries=$((tries - 1))
	if [ $tries = 0 ]; then
		tail -n 20 "$log" >&2
		echo "ray: the head does not start; all that it said: $log, $MUSTER_DIR/ray" >&2
		exit 1
	fi
done
(cd "$work" && exec "$@")
