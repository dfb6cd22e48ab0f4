import { expect, test } from "vitest";
import type { JobDetail } from "../api/types";
import { phasesOf, widths } from "./phases";

const at = (second: number) => new Date(Date.UTC(2026, 2, 1, 0, 0, second)).toISOString();

function detail(attempt: Partial<JobDetail["attempts"][number]> | null, ended?: string): JobDetail {
  const job = { submitted_at: at(0), ended_at: ended ?? null } as JobDetail["job"];
  const attempts = attempt ? [{ number: 1, cluster: "east", state: "", object: "", chosen_because: "", ended_because: "", assigned_at: at(2), ...attempt }] : [];
  return { job, attempts } as unknown as JobDetail;
}

test("a finished job has three closed phases", () => {
  expect(phasesOf(detail({ running_at: at(30), ended_at: at(90) }))).toEqual([
    { name: "Waited", from: at(0), to: at(2) },
    { name: "Started", from: at(2), to: at(30) },
    { name: "Ran", from: at(30), to: at(90) },
  ]);
});

test("a queued job waits and nothing else; the wait of a cancelled one has an end", () => {
  expect(phasesOf(detail(null))).toEqual([{ name: "Waited", from: at(0), to: null }]);
  expect(phasesOf(detail(null, at(9)))).toEqual([{ name: "Waited", from: at(0), to: at(9) }]);
});

test("a job that never ran ends while starting", () => {
  expect(phasesOf(detail({ ended_at: at(40) })).map((phase) => phase.name)).toEqual(["Waited", "Started"]);
});

test("a cluster's slow clock makes no negative phase", () => {
  const phases = phasesOf(detail({ running_at: at(1), ended_at: at(90) }));
  expect(phases[1]).toEqual({ name: "Started", from: at(2), to: at(2) });
});

test("widths fill the bar and hide no phase", () => {
  const [a = 0, b = 0] = widths([1, 100_000]);
  expect(a).toBeGreaterThan(3);
  expect(a + b).toBeCloseTo(100);
  expect(widths([0, 0])).toEqual([50, 50]);
});
