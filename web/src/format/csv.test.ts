import { expect, test } from "vitest";
import { csv } from "./csv";

test("quotes, commas and line breaks survive", () => {
  expect(csv(["a", "b"], [['say "hi"', "x,y\nz"]])).toBe('a,b\r\n"say ""hi""","x,y\nz"\r\n');
});

test("a job named like a formula stays text, a negative amount stays a number", () => {
  expect(csv(["n"], [["=1+1"], ["-5.25"], ["-cmd"]])).toBe("n\r\n'=1+1\r\n-5.25\r\n'-cmd\r\n");
});
