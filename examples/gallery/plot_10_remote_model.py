"""
A model behind HTTP
===================

The model runs on another machine, and every value is billed. Here the other machine is a thread on this one. It keeps its own count, which
must agree with the library's.
"""

import json
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import matplotlib.pyplot as plt
import numpy as np

import zofw

rng = np.random.default_rng(9)
A, c = rng.standard_normal((30, 8)), rng.standard_normal(30)
billed = 0


class Model(BaseHTTPRequestHandler):
    """POST {"points": …, "components": …} → {"values": …}."""

    def do_POST(self):
        global billed
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        X, i = np.array(asked["points"]), np.array(asked["components"])
        values = np.log1p((X @ A[i].T - c[i]) ** 2)
        billed += values.size
        body = json.dumps({"values": values.tolist()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        """Quiet."""


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
address = f"http://127.0.0.1:{server.server_port}"


# %%
# The client is a function like any other: many points and many components in one request. It keeps the mean of each answer for the picture
# below.


def remote(points, components):
    body = json.dumps({"points": points.tolist(), "components": components.tolist()}).encode()
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as reply:
        values = np.array(json.load(reply)["values"])
    answers.append((billed, values.mean()))
    return values


f = zofw.problems.BlackBox(remote, dim=8, n=30, vectorized=True)
answers = []
result = zofw.minimize(f, zofw.L1Ball(2.0), budget=20_000, rng=0)
server.shutdown()
server.server_close()
assert billed == result.nfev <= 20_000
print(f"billed {billed:,}, counted {result.nfev:,}; {len(answers)} requests; mean {result.fun:.4f}")
print(result.message)

# %%
# What the values came to, request by request. Requests ask different components, so they scatter around the mean of all.

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.plot(*np.array(answers).T, ".", color="C0", label="mean of the values in one answer")
ax.axhline(result.fun, color="C3", label="mean of all components at the end")
ax.set_xlabel("values billed")
ax.legend(frameon=False)
plt.show()
