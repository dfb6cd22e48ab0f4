import type { Change } from "./types";

/** The first parts of the keys under which queries are cached. */
export type QueryKey = readonly string[];

/** What has to be fetched again because of `change`. A log change needs nothing: an open log view streams by itself. */
export function keysTouchedBy(change: Change): QueryKey[] {
  switch (change.kind) {
    case "job":
      return [["jobs"], ["job"], ["queues"]];
    case "queue":
      return [["queues"]];
    case "cluster":
      return [["clusters"]];
    case "incident":
      return [["incidents"], ["incident", change.id], ["job"]];
    case "usage":
      return [["usage"]];
    case "log":
      return [];
    // `all` says that changes were missed; a kind of a newer server may mean anything.
    default:
      return [[]];
  }
}

/** Reads the data of one event; `null` for anything that is no change. */
export function parseChange(data: string): Change | null {
  try {
    const { kind, id, version } = JSON.parse(data) as Partial<Change>;
    if (typeof kind !== "string" || typeof id !== "string") return null;
    return { kind, id, version: typeof version === "number" ? version : 0 };
  } catch {
    return null;
  }
}

/** Distinct keys of many changes, in the order first seen. */
export function keysOf(changes: Change[]): QueryKey[] {
  const seen = new Map<string, QueryKey>();
  for (const change of changes) {
    for (const key of keysTouchedBy(change)) seen.set(key.join("\0"), key);
  }
  return [...seen.values()];
}

/** Milliseconds to wait before try number `attempt` (from 0): doubles from 1 s to 30 s, spread by `random` in [0, 1). */
export function backoff(attempt: number, random: number): number {
  const ceiling = Math.min(30_000, 1_000 * 2 ** Math.min(attempt, 10));
  return Math.round(ceiling * (0.5 + random / 2));
}
