import { expect, test } from "vitest";
import type { Cluster, Incident, Job } from "../api/types";
import { attention, ofLastDay } from "./attention";

const cluster = (part: Partial<Cluster>) => ({ id: part.name, state: "active", alarm: "", sentence: "", ...part }) as Cluster;
const incident = (part: Partial<Incident>) => ({ severity: "warning", title: "", explanation: "", last_seen_at: "", ...part }) as Incident;

test("what is urgent comes first, and a healthy fleet needs nobody", () => {
  const clusters = [cluster({ name: "a" }), cluster({ name: "b", state: "silent" }), cluster({ name: "c", state: "pending" }), cluster({ name: "d", alarm: "a second agent" })];
  const incidents = [incident({ id: "w" }), incident({ id: "k", severity: "critical" })];
  const job = { id: "j", name: "big", sentence: "", submitted_at: "" } as Job;
  expect(attention(clusters, incidents, [job]).map((notice) => notice.key)).toEqual(["alarm d", "incident k", "silent b", "pending c", "incident w", "job j"]);
  expect(attention([cluster({ name: "a" })], [], [])).toEqual([]);
});

test("a job that failed within a day stands before minor incidents and waiting jobs, an older one is history", () => {
  const ended = (id: string, ended_at: string) => ({ id, name: id, sentence: "", submitted_at: "", ended_at }) as Job;
  const now = Date.parse("2026-11-30T12:00:00Z");
  const jobs = [ended("a", "2026-11-30T01:00:00Z"), ended("b", "2026-11-30T11:00:00Z"), ended("c", "2026-11-29T11:59:00Z")];
  expect(ofLastDay(jobs, now).map((job) => job.id)).toEqual(["b", "a"]);
  const shown = attention([], [incident({ id: "w" })], [ended("q", "")], ofLastDay(jobs, now));
  expect(shown.map((notice) => notice.key)).toEqual(["failed b", "failed a", "incident w", "job q"]);
});

test("a silent cluster with an alarm is named for both", () => {
  expect(attention([cluster({ name: "x", state: "silent", alarm: "!" })], [], []).map((notice) => notice.key)).toEqual(["alarm x", "silent x"]);
});
