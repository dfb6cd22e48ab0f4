import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { followLog, type LogStatus } from "./logs";

/** A server on loopback whose answers each test gives, request by request. */
let server: Server;
let answers: ((request: URL, response: ServerResponse) => void)[];
const realFetch = globalThis.fetch;

beforeEach(async () => {
  answers = [];
  server = createServer((request: IncomingMessage, response) => {
    const answer = answers.shift();
    if (answer) answer(new URL(request.url ?? "/", "http://here"), response);
    else response.writeHead(500).end();
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  vi.stubGlobal("fetch", (path: string, init: RequestInit) => realFetch(base + path, init));
});
afterEach(async () => {
  vi.unstubAllGlobals();
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

/** The log has no more bytes. */
const nothingMore = (_: URL, response: ServerResponse) => void response.writeHead(200).end();

async function follow(finished: () => boolean) {
  const seen: { text: string; missing: number[]; told: string[]; statuses: LogStatus["kind"][] } = { text: "", missing: [], told: [], statuses: [] };
  await followLog("train", 1, finished, {
    status: (status) => seen.statuses.push(status.kind),
    bytes: (bytes) => (seen.text += new TextDecoder().decode(bytes)),
    missing: (count, told) => {
      seen.missing.push(count);
      seen.told.push(told);
    },
  }, AbortSignal.timeout(20_000));
  return seen;
}

test("a broken connection goes on at the byte where it stopped, nothing lost and nothing twice", async () => {
  const offsets: (string | null)[] = [];
  answers.push(
    (url, response) => {
      offsets.push(url.searchParams.get("offset"));
      response.writeHead(200, { "squadron-log-offset": "0" });
      response.write("one\ntw", () => setTimeout(() => response.destroy(), 20));
    },
    (url, response) => {
      offsets.push(url.searchParams.get("offset"));
      response.writeHead(200, { "squadron-log-offset": "6" }).end("o\nthree\n");
    },
    nothingMore,
  );
  const seen = await follow(() => true);
  expect(seen.text).toBe("one\ntwo\nthree\n");
  expect(offsets).toEqual(["0", "6"]);
  expect(seen.statuses).toEqual(["opening", "following", "retrying", "following", "following", "complete"]);
});

test("a polite end while the job still runs is no end of the log", async () => {
  let over = false;
  answers.push(
    (_, response) => response.writeHead(200).end("a\n"),
    (url, response) => {
      over = true;
      response.writeHead(200).end(url.searchParams.get("offset") === "2" ? "b\n" : "wrong offset");
    },
    nothingMore,
  );
  const seen = await follow(() => over);
  expect(seen.text).toBe("a\nb\n");
  expect(seen.statuses.at(-1)).toBe("complete");
});

test("bytes that the server no longer has are reported as missing", async () => {
  answers.push((_, response) => response.writeHead(200, { "squadron-log-offset": "100" }).end("late\n"), nothingMore);
  const seen = await follow(() => true);
  expect(seen.missing).toEqual([100]);
  expect(seen.text).toBe("late\n");
});

test("an answer that ends where bytes are missing is read on behind them", async () => {
  const offsets: (string | null)[] = [];
  const gap = "94 bytes of the log are missing here: they never reached the control plane";
  answers.push(
    (_, response) => response.writeHead(200, { "squadron-log-offset": "0" }).end("first\n"),
    (url, response) => {
      offsets.push(url.searchParams.get("offset"));
      response.writeHead(200, { "squadron-log-offset": "100", "squadron-log-gap": gap }).end("last\n");
    },
    (url, response) => {
      offsets.push(url.searchParams.get("offset"));
      response.writeHead(200, { "squadron-log-offset": "105" }).end();
    },
  );
  const seen = await follow(() => true);
  expect([seen.text, seen.missing, seen.told]).toEqual(["first\nlast\n", [94], [gap]]);
  expect(offsets).toEqual(["6", "105"]);
});

test("an answer that asking again does not change ends the follow", async () => {
  const problem = { code: "SQD-1003", status: 404, detail: "there is no job train", next_step: "list the jobs", request_id: "r" };
  answers.push((_, response) => response.writeHead(404, { "content-type": "application/problem+json" }).end(JSON.stringify(problem)));
  const seen = await follow(() => false);
  expect(seen.statuses).toEqual(["opening", "failed"]);
});
