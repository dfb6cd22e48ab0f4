import { expect, test } from "vitest";
import { plain, spans } from "./ansi";

test("colours become classes and end where they end", () => {
  expect(spans("\x1b[36m(train pid=7)\x1b[0m step 1")).toEqual([
    { text: "(train pid=7)", style: "ansi-cyan" },
    { text: " step 1", style: "" },
  ]);
});

test("bold and bright colours combine; 256-colour codes are passed over", () => {
  expect(spans("\x1b[1;91mbad\x1b[22m\x1b[38;5;208m odd")).toEqual([
    { text: "bad", style: "ansi-red ansi-bold" },
    { text: " odd", style: "ansi-red" },
  ]);
});

test("cursor movement, titles and stray control characters vanish", () => {
  expect(plain("\x1b[2K\x1b]0;title\x07a\x00b\x1b[1Ac\x1b")).toBe("abc");
});

test("markup stays text", () => {
  expect(plain("<script>alert(1)</script>")).toBe("<script>alert(1)</script>");
});
