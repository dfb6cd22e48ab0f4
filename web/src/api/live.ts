import type { Change } from "./types";
import { apiUrl, send } from "./client";
import { backoff, parseChange } from "./changes";
import { ApiError } from "./problem";
import { SseParser } from "./sse";

/** Whether pages are kept up to date, and since when (milliseconds since 1970) that is so. */
export interface Liveness {
  state: "connecting" | "live" | "down";
  since: number;
}

/** What the stream tells the page. */
export interface LiveHandlers {
  changes: (changes: Change[]) => void;
  /** The stream is (again) open: whatever happened meanwhile is unknown. */
  opened: () => void;
  signedOut: () => void;
}

/** Changes that arrive within this time are handed over together. */
const GATHER_MS = 250;
/** No byte for this long means a dead connection; keep-alives come every 15 s or more often. */
const SILENCE_MS = 50_000;

let liveness: Liveness = { state: "connecting", since: Date.now() };
const listeners = new Set<() => void>();

export function currentLiveness(): Liveness {
  return liveness;
}

export function subscribeLiveness(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function become(state: Liveness["state"]): void {
  if (liveness.state === state) return;
  liveness = { state, since: Date.now() };
  listeners.forEach((listener) => listener());
}

/** Keeps the stream of changes open until the returned function is called. */
export function followChanges(handlers: LiveHandlers): () => void {
  const stop = new AbortController();
  const gather = gatherer(handlers.changes);
  void (async () => {
    for (let attempt = 0; !stop.signal.aborted; attempt += 1) {
      const before = Date.now();
      const ended = await once(stop.signal, handlers.opened, gather.add);
      if (stop.signal.aborted) return;
      become("down");
      if (ended === "signed out") return handlers.signedOut();
      if (Date.now() - before > 60_000) attempt = 0;
      await pause(backoff(attempt, Math.random()), stop.signal);
    }
  })();
  return () => {
    stop.abort();
    gather.stop();
    become("connecting");
  };
}

/** One connection, from opening to its end. */
async function once(stop: AbortSignal, opened: () => void, add: (change: Change) => void): Promise<"ended" | "signed out"> {
  const dead = new AbortController();
  const signal = AbortSignal.any([stop, dead.signal]);
  let watchdog = setTimeout(() => dead.abort(), SILENCE_MS);
  try {
    const response = await send(apiUrl("/events"), { signal, headers: { accept: "text/event-stream" } });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    if (!reader) return "ended";
    become("live");
    opened();
    const parser = new SseParser();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return "ended";
      clearTimeout(watchdog);
      watchdog = setTimeout(() => dead.abort(), SILENCE_MS);
      for (const event of parser.push(value)) {
        const change = parseChange(event.data);
        if (change) add(change);
      }
    }
  } catch (error) {
    return error instanceof ApiError && error.problem.status === 401 ? "signed out" : "ended";
  } finally {
    clearTimeout(watchdog);
    dead.abort();
  }
}

/** Hands over changes in bundles; while the page is hidden it waits until somebody looks. */
function gatherer(deliver: (changes: Change[]) => void): { add: (change: Change) => void; stop: () => void } {
  let waiting: Change[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    timer = undefined;
    if (document.hidden || waiting.length === 0) return;
    const bundle = waiting;
    waiting = [];
    deliver(bundle);
  };
  document.addEventListener("visibilitychange", flush);
  return {
    add(change) {
      // The keys to refetch are few; a long absence need not be remembered change by change.
      if (waiting.length < 1_000) waiting.push(change);
      timer ??= setTimeout(flush, GATHER_MS);
    },
    stop() {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", flush);
    },
  };
}

export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });
}
