import { expect, test } from "vitest";
import { backoff, keysOf, parseChange } from "./changes";

test("a burst of changes of one kind refetches each list once", () => {
  const burst = Array.from({ length: 50 }, (_, n) => ({ kind: "job", id: `j${n}`, version: n }));
  expect(keysOf(burst)).toEqual([["jobs"], ["job"], ["queues"]]);
});

test("a change of policy refetches the queues", () => {
  expect(keysOf([{ kind: "queue", id: "policy", version: 3 }])).toEqual([["queues"]]);
});

test("log bytes refetch nothing", () => {
  expect(keysOf([{ kind: "log", id: "j", version: 1 }])).toEqual([]);
});

test("missed changes and unknown kinds refetch everything instead of being lost", () => {
  expect(keysOf([{ kind: "all", id: "", version: 0 }])).toEqual([[]]);
  expect(keysOf([{ kind: "session", id: "s", version: 1 }, { kind: "session", id: "t", version: 2 }])).toEqual([[]]);
});

test("data that is no change is passed over", () => {
  expect(parseChange("nonsense")).toBeNull();
  expect(parseChange('{"kind":1}')).toBeNull();
  expect(parseChange('{"kind":"job","id":"a","version":3}')).toEqual({ kind: "job", id: "a", version: 3 });
});

test("waits grow to half a minute and stay there", () => {
  expect(backoff(0, 0.999)).toBeLessThanOrEqual(1_000);
  expect(backoff(3, 0)).toBe(4_000);
  expect(backoff(40, 0.999)).toBeLessThanOrEqual(30_000);
  expect(backoff(40, 0)).toBe(15_000);
});
