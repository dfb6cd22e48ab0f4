import { apiUrl, send } from "./client";
import { backoff } from "./changes";
import { pause } from "./live";
import { ApiError, asProblem } from "./problem";
import type { Problem } from "./types";

/** How a log stream stands. */
export type LogStatus =
  | { kind: "opening" }
  | { kind: "following" }
  | { kind: "retrying"; problem: Problem }
  | { kind: "complete" }
  | { kind: "failed"; problem: Problem };

/** Somebody is looking at the log, so a broken connection is tried again soon. */
const LONGEST_WAIT_MS = 4_000;

export interface LogHandlers {
  status(status: LogStatus): void;
  bytes(bytes: Uint8Array): void;
  /** The server could not start where asked: this many bytes are missing, and what it says of them. */
  missing(count: number, told: string): void;
}

/** The whole log as a file; a line takes the place of bytes that are missing. */
export function logFileUrl(job: string, attempt: number): string {
  return logUrl(job, attempt, { marks: true });
}

function logUrl(job: string, attempt: number, extra: Record<string, string | number | boolean> = {}): string {
  return apiUrl(`/jobs/${encodeURIComponent(job)}/logs`, { attempt, ...extra });
}

/**
 * Follows one attempt's driver log until it is complete or `signal` aborts. After a broken connection it goes on at the
 * byte where it stopped. `finished` says whether the attempt has ended, so that a clean end of the stream is told from
 * a server that went away politely; and since an answer also ends where bytes are missing, the log is complete only when
 * an answer brought nothing.
 */
export async function followLog(job: string, attempt: number, finished: () => boolean, on: LogHandlers, signal: AbortSignal): Promise<void> {
  let offset = 0;
  on.status({ kind: "opening" });
  for (let tries = 0; !signal.aborted; tries += 1) {
    const wasFinished = finished();
    const before = offset;
    try {
      const response = await send(logUrl(job, attempt, { follow: true, offset }), { signal });
      const start = Number(response.headers.get("squadron-log-offset") ?? offset);
      if (start > offset) on.missing(start - offset, response.headers.get("squadron-log-gap") ?? "");
      offset = Math.max(offset, start);
      on.status({ kind: "following" });
      for await (const bytes of piecesOf(response)) {
        if (signal.aborted) return;
        tries = 0;
        offset += bytes.length;
        on.bytes(bytes);
      }
      if (offset === before && (wasFinished || finished())) return on.status({ kind: "complete" });
    } catch (error) {
      if (signal.aborted) return;
      const problem = asProblem(error);
      if (error instanceof ApiError && isFinal(problem.status)) return on.status({ kind: "failed", problem });
      on.status({ kind: "retrying", problem });
    }
    await pause(Math.min(LONGEST_WAIT_MS, backoff(tries, Math.random())), signal);
  }
}

/** Statuses that asking again does not change. */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

async function* piecesOf(response: Response): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  if (!reader) return;
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
