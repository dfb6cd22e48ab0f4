# Stands for a Ray head in rounds of faults: it answers the probes and the job API, does no work, and writes the time into
# a file on the node ten times a second, so that the file tells when the container lived whatever anybody else says. As the
# first process of its container it hears no SIGTERM that it did not ask for, so it lives until it is killed unless the first
# argument is "obedient".
import http.server, json, os, signal, sys, threading, time

JOBS = {}


class Head(http.server.BaseHTTPRequestHandler):
    def answer(self, code, body):
        text = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        name = self.path.split("/")[3] if self.path.startswith("/api/jobs/") else ""
        if self.path.endswith("/logs"):
            self.answer(200, {"logs": ""})
        elif name:
            self.answer(200 if name in JOBS else 404, JOBS.get(name, {}))
        else:
            self.answer(200, "success")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        if self.path.endswith("/stop"):
            self.answer(200, {"stopped": True})
            return
        name = body["submission_id"]
        JOBS[name] = {
            "type": "SUBMISSION", "submission_id": name, "status": "RUNNING", "message": "",
            "entrypoint": body["entrypoint"], "start_time": int(time.time() * 1000),
        }
        self.answer(200, {"job_id": name, "submission_id": name})

    def log_message(self, *_):
        pass


def serve(port):
    server = http.server.ThreadingHTTPServer(("", port), Head)
    threading.Thread(target=server.serve_forever, daemon=True).start()


begun = time.time()
if sys.argv[1:] == ["obedient"]:
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
name = ".".join(os.environ[key] for key in ("SQUADRON_JOB_ID", "SQUADRON_ATTEMPT", "NODE", "HOSTNAME"))
with open(f"/lives/{name}.{int(begun * 1000)}", "w", buffering=1) as out:
    print(f"{begun:.3f}", file=out)
    serve(8265)
    serve(52365)
    while True:
        time.sleep(0.1)
        print(f"{time.time():.3f}", file=out)
