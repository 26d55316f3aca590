"""Answers every request with the square of the number in its path, /7 with 49."""

import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Square(BaseHTTPRequestHandler):
    def do_GET(self):
        answer = str(int(self.path[1:]) ** 2).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


print("loading, which takes a while", flush=True)
time.sleep(2)
server = ThreadingHTTPServer(("", int(os.environ["MUSTER_PORT_HTTP"])), Square)
print("ready", flush=True)  # for people; muster sees that the port is open
server.serve_forever()
