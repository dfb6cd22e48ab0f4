import { expect, test } from "vitest";
import { absolute, age, bothZones, dayOf, duration } from "./time";

test("durations have at most two units", () => {
  expect(duration(0)).toBe("0 s");
  expect(duration(59_999)).toBe("59 s");
  expect(duration(65_000)).toBe("1 m 05 s");
  expect(duration(7_500_000)).toBe("2 h 05 m");
  expect(duration(90_000_000)).toBe("1 d 01 h");
});

test("a time in the future has age zero, not a negative one", () => {
  expect(age(-5_000)).toBe("0 s");
  expect(duration(-5_000)).toBe("0 s");
});

test("ages have one unit", () => {
  expect([59, 60, 3_600, 47 * 3_600, 48 * 3_600].map((s) => age(s * 1_000))).toEqual(["59 s", "1 m", "1 h", "47 h", "2 d"]);
});

test("absolute times read the same everywhere", () => {
  expect(absolute("2026-03-01T00:04:05.123456Z", "utc")).toBe("2026-03-01 00:04:05");
  expect(dayOf("2026-03-01T23:59:59Z", "utc")).toBe("2026-03-01");
  expect(bothZones("2026-03-01T00:04:05Z").startsWith("2026-03-01 00:04:05 UTC\n")).toBe(true);
});

test("an unreadable time is shown as unknown", () => {
  expect(absolute("soon", "utc")).toBe("---------- --:--:--");
});
