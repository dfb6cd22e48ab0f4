import { expect, test } from "vitest";
import { bounds, presetOf, presetPeriod, readPeriod } from "./period";

const now = Date.UTC(2026, 2, 5, 13, 0, 0);

test("presets are whole days in UTC", () => {
  expect(presetPeriod("today", now)).toEqual({ first: "2026-03-05", last: "2026-03-05" });
  expect(presetPeriod("week", now)).toEqual({ first: "2026-02-27", last: "2026-03-05" });
  expect(presetPeriod("month", now)).toEqual({ first: "2026-03-01", last: "2026-03-05" });
  expect(presetPeriod("previous", now)).toEqual({ first: "2026-02-01", last: "2026-02-28" });
});

test("the last day is included, and the future is left to the server", () => {
  expect(bounds({ first: "2026-02-01", last: "2026-02-28" }, now)).toEqual({ from: "2026-02-01T00:00:00Z", to: "2026-03-01T00:00:00Z" });
  expect(bounds({ first: "2026-03-01", last: "2026-03-05" }, now).to).toBeUndefined();
});

test("an address with nonsense shows this month", () => {
  for (const text of ["", "from=2026-02-31x&to=2026-03-01", "from=2026-03-04&to=2026-03-01", "from=x"]) {
    expect(presetOf(readPeriod(new URLSearchParams(text), now), now), text).toBe("month");
  }
  expect(readPeriod(new URLSearchParams("from=2026-01-01&to=2026-01-31"), now)).toEqual({ first: "2026-01-01", last: "2026-01-31" });
});
