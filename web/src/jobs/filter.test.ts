import { expect, test } from "vitest";
import { narrows, readFilter, toggled, writeFilter } from "./filter";

test("a filter survives the way through the address", () => {
  const text = "status=queued%2Cfailed&queue=acme%2Fvision&cluster=east&owner=alice&page=abc";
  expect(writeFilter(readFilter(new URLSearchParams(text))).toString()).toBe(text);
});

test("unknown states and keys are passed over", () => {
  const filter = readFilter(new URLSearchParams("status=running,exploded&colour=red"));
  expect(filter.status).toEqual(["running"]);
  expect(writeFilter(filter).toString()).toBe("status=running");
});

test("changing a state starts from the first page again", () => {
  const filter = toggled(readFilter(new URLSearchParams("status=failed&page=x")), "running");
  expect(filter.status).toEqual(["running", "failed"]);
  expect(filter.page).toBe("");
  expect(toggled(filter, "running").status).toEqual(["failed"]);
});

test("a page alone does not narrow the list", () => {
  expect(narrows(readFilter(new URLSearchParams("page=x")))).toBe(false);
  expect(narrows(readFilter(new URLSearchParams("owner=bob")))).toBe(true);
});
