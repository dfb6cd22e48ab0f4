import { expect, test } from "vitest";
import { offsetFrom } from "./clock";

test("a difference larger than the round trip explains is a wrong clock", () => {
  expect(offsetFrom("2026-03-01T00:05:00Z", Date.parse("2026-03-01T00:00:00Z"), Date.parse("2026-03-01T00:00:00Z"))).toBe(300_000);
});

test("a slow answer is no wrong clock", () => {
  const sent = Date.parse("2026-03-01T00:00:00Z");
  expect(offsetFrom("2026-03-01T00:00:02Z", sent, sent + 4_000)).toBe(0);
});

test("an unreadable time changes nothing", () => {
  expect(offsetFrom("", 0, 0)).toBe(0);
});
