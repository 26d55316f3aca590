"""A barrier of N clients over one TCPStore, as torch.distributed's processes
meet: each connects and counts itself, then waits for the key that the last one
sets. Clients are threads of one process, the server is another."""
import json, os, resource, subprocess, sys, threading, time
from datetime import timedelta

import torch
from torch.distributed import TCPStore

WAIT = timedelta(minutes=3)


def cpu(pid):
    fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def peak(pid):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1])


def serve():
    store = TCPStore("127.0.0.1", 0, None, True, WAIT, wait_for_workers=False)
    print(store.port, flush=True)
    sys.stdin.read()


def call(n, port):
    gate = threading.Semaphore(512)  # as many connect at a time as ours
    failures = []

    def client():
        try:
            with gate:
                store = TCPStore("127.0.0.1", port, None, False, WAIT, wait_for_workers=False)
                arrived = store.add("arrived", 1)
            if arrived == n:
                store.set("go", "1")
            store.wait(["go"], WAIT)
            stores.append(store)  # kept open until all are through
        except Exception as e:
            failures.append(e)

    stores = []
    threading.stack_size(256 << 10)
    threads = [threading.Thread(target=client) for _ in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failures:
        sys.exit(f"{len(failures)} of {n} clients failed: {failures[0]}")
    return stores


if sys.argv[1] == "serve":
    serve()
else:
    n = int(sys.argv[1])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    n = min(n, (hard - 500) // 2)  # each client has two connections
    source = sys.orig_argv[sys.orig_argv.index("-c") + 1]
    server = subprocess.Popen([sys.executable, "-c", source, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    port = int(server.stdout.readline())
    memory, before, own = peak(server.pid), cpu(server.pid), cpu(os.getpid())
    begin = time.monotonic()
    stores = call(n, port)
    seconds = time.monotonic() - begin
    print(json.dumps({"clients": n, "seconds": seconds, "cpu": cpu(server.pid) - before, "played": cpu(os.getpid()) - own,
                      "peak": peak(server.pid) - memory, "torch": torch.__version__}))
    sys.stdout.flush()
    server.kill()
    os._exit(0)
