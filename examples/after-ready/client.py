"""Asks the server once. There is no need to try again: it was ready before we started."""

import json
import os
import urllib.request

with open(os.environ["MUSTER_ROSTER"]) as f:
    roster = json.load(f)
server = next(m for m in roster["members"] if m["task"] == "server/0")
number = int(os.environ["MUSTER_INDEX"]) + 7
url = f"http://{server['host']}:{server['ports']['http']}/{number}"
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # whatever http_proxy says
with direct.open(url, timeout=10) as answer:
    print(f"{number} squared is {answer.read().decode()}", flush=True)
