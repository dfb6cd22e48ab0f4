import { expect, test } from "vitest";
import type { Cluster, Incident, Job } from "../api/types";
import { attention } from "./attention";

const cluster = (part: Partial<Cluster>) => ({ id: part.name, state: "active", alarm: "", sentence: "", ...part }) as Cluster;
const incident = (part: Partial<Incident>) => ({ severity: "warning", title: "", explanation: "", last_seen_at: "", ...part }) as Incident;

test("what is urgent comes first, and a healthy fleet needs nobody", () => {
  const clusters = [cluster({ name: "a" }), cluster({ name: "b", state: "silent" }), cluster({ name: "c", state: "pending" }), cluster({ name: "d", alarm: "a second agent" })];
  const incidents = [incident({ id: "w" }), incident({ id: "k", severity: "critical" })];
  const job = { id: "j", name: "big", sentence: "", submitted_at: "" } as Job;
  expect(attention(clusters, incidents, [job]).map((notice) => notice.key)).toEqual(["alarm d", "incident k", "silent b", "pending c", "incident w", "job j"]);
  expect(attention([cluster({ name: "a" })], [], [])).toEqual([]);
});

test("a silent cluster with an alarm is named for both", () => {
  expect(attention([cluster({ name: "x", state: "silent", alarm: "!" })], [], []).map((notice) => notice.key)).toEqual(["alarm x", "silent x"]);
});
