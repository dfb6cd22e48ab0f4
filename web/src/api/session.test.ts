import { expect, test } from "vitest";
import { tokenInFragment } from "./session";

test("a login link gives up its token and nothing else", () => {
  expect(tokenInFragment("#token=sqd_abc")).toEqual({ token: "sqd_abc", rest: "" });
  expect(tokenInFragment("#token=sqd_abc&L=4")).toEqual({ token: "sqd_abc", rest: "#L=4" });
});

test("other fragments are left alone", () => {
  expect(tokenInFragment("")).toBeNull();
  expect(tokenInFragment("#main")).toBeNull();
  expect(tokenInFragment("#token=")).toBeNull();
});
