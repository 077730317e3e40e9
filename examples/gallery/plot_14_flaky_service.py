"""
A service that fails, over HTTP and through a folder
====================================================

A service on loopback evaluates what it is sent, slowly, eight requests at a time, and now and then it answers 503 instead and
bills nothing. The desk keeps its run in a folder: whatever is killed in between, no value that was billed is paid for twice.
"""

import json
import tempfile
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor, as_completed
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import matplotlib.pyplot as plt
import numpy as np

import zofw

rng = np.random.default_rng(4)
A, c = rng.standard_normal((12, 6)), rng.standard_normal(12)
bill, calls, counting = 0, 0, threading.Lock()


class Service(BaseHTTPRequestHandler):
    """POST a request of the desk → {"id": …, "values": …}; every 9th call is turned away."""

    def do_POST(self):
        global bill, calls
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with counting:
            calls += 1
            away = calls % 9 == 0
            bill += 0 if away else len(asked["point"])
        time.sleep(0.002)
        X, i = np.array(asked["points"])[asked["point"]], np.array(asked["component"])
        values = np.log1p((np.einsum("md,md->m", X, A[i]) - c[i]) ** 2)
        body = json.dumps({"id": asked["id"], "values": values.tolist()}).encode()
        self.send_response(503 if away else 200)
        self.send_header("Content-Length", str(0 if away else len(body)))
        self.end_headers()
        self.wfile.write(b"" if away else body)

    def log_message(self, *arguments):
        """Quiet."""


ThreadingHTTPServer.request_queue_size = 64
server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
threading.Thread(target=server.serve_forever, daemon=True).start()
address = f"http://127.0.0.1:{server.server_port}"


def send(request):
    """The answer as the service gave it, or that there was none and nothing was billed."""
    begun = time.perf_counter()
    post = urllib.request.Request(address, request.json().encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(post, timeout=10) as reply:
            return json.load(reply), begun
    except urllib.error.HTTPError as error:
        error.close()
        return {"id": request.id, "failed": f"HTTP {error.code}", "paid": False}, begun


# %%
# Four evaluations a request, eight requests in flight, answers taken as they come. What was turned away is asked for again
# under a name of its own.

method = zofw.papers.ZOSFW(batch_size=12, directions=6, law=zofw.directions.Orthogonal())
settings = {"dim": 6, "n": 12, "method": method, "budget": 2_000, "rng": 0}
folder = tempfile.mkdtemp()
flights = []
with zofw.Desk.open(folder, zofw.L1Ball(2.0), size=4, **settings) as desk, ThreadPoolExecutor(8) as pool:
    while requests := desk.requests(limit=64):
        for sent in as_completed([pool.submit(send, request) for request in requests]):
            answer, begun = sent.result()
            desk.take(answer)
            flights.append((begun, time.perf_counter(), "failed" in answer))
    result = desk.result()
server.shutdown()
server.server_close()

away = sum(failed for _, _, failed in flights)
assert bill == result.nfev <= 2_000
print(f"{len(flights)} requests, {away} turned away; billed {bill:,}, counted {result.nfev:,}")

# %%
# The first requests: when each was under way, and which were turned away. The order of answers left no trace in the result.


def call(x, i):
    return float(np.log1p((np.einsum("d,d->", x, A[i]) - c[i]) ** 2))


direct = zofw.minimize(
    zofw.problems.BlackBox(call, dim=6, n=12), zofw.L1Ball(2.0), method=method, budget=2_000, rng=0
)
assert np.allclose(result.x, direct.x)

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
start = flights[0][0]
for row, (begun, ended, failed) in enumerate(flights[:120]):
    ax.plot([1e3 * (begun - start), 1e3 * (ended - start)], [row, row], color="C3" if failed else "C0")
ax.plot([0], [0], "C0", label="answered")
ax.plot([0], [0], "C3", label="turned away")
ax.set_xlabel("milliseconds")
ax.set_ylabel("requests in the order of their answers")
ax.legend(frameon=False)
plt.show()
