import type { JobDetail } from "../api/types";

/** A stretch of a job's life; `to` is absent while it lasts. */
export interface Phase {
  name: "Waited" | "Started" | "Ran";
  from: string;
  to: string | null;
}

/**
 * How the newest attempt came to where it is: waited in the queue, started up, ran. Times that a cluster's clock puts
 * before their predecessor are pulled up to it, so that no phase has a negative length.
 */
export function phasesOf({ job, attempts }: JobDetail): Phase[] {
  const newest = attempts.reduce<JobDetail["attempts"][number] | undefined>((best, next) => (!best || next.number > best.number ? next : best), undefined);
  const end = newest?.ended_at ?? job.ended_at ?? null;
  const assigned = newest?.assigned_at ?? null;
  const running = newest?.running_at ?? null;
  const phases: Phase[] = [{ name: "Waited", from: job.submitted_at, to: later(assigned ?? end, job.submitted_at) }];
  if (assigned) phases.push({ name: "Started", from: later(assigned, job.submitted_at), to: later(running ?? end, assigned) });
  if (assigned && running) phases.push({ name: "Ran", from: later(running, assigned), to: later(end, running) });
  return phases;
}

function later(at: string, floor: string): string;
function later(at: string | null, floor: string): string | null;
function later(at: string | null, floor: string): string | null {
  if (at === null) return null;
  return Date.parse(at) < Date.parse(floor) ? floor : at;
}

/** Widths in percent that sum to 100; the shortest phase stays visible. */
export function widths(lengths: number[]): number[] {
  const least = 4;
  const total = lengths.reduce((sum, length) => sum + Math.max(0, length), 0);
  if (total === 0) return lengths.map(() => 100 / lengths.length);
  const raised = lengths.map((length) => Math.max(least, (Math.max(0, length) / total) * 100));
  const sum = raised.reduce((a, b) => a + b, 0);
  return raised.map((width) => (width / sum) * 100);
}
