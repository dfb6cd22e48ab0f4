import { expect, test } from "vitest";
import { jobCommands, listCommand, quoted } from "./command";

test("words that a shell would split or expand are quoted", () => {
  expect(quoted("train-17")).toBe("train-17");
  expect(quoted("a b")).toBe("'a b'");
  expect(quoted("it's $HOME")).toBe("'it'\\''s $HOME'");
});

test("a finished job offers no cancel", () => {
  expect(jobCommands("j", false, false).map((c) => c.label)).toEqual(["Describe", "Print the log"]);
  expect(jobCommands("j", true, true).map((c) => c.label)).toContain("Cancel");
});

test("a list command has the flags of the filter", () => {
  expect(listCommand({ status: "failed,cancelled", queue: "research" })).toBe("squadron list --status failed,cancelled --queue research");
  expect(listCommand({})).toBe("squadron list");
});
