import { expect, test } from "vitest";
import { SseParser } from "./sse";

test("events come out whole however the bytes are cut", () => {
  const text = 'id: 7\ndata: {"kind":"job"}\n\n: keep-alive\n\nevent: x\ndata: a\ndata: b\n\n';
  for (let size = 1; size <= text.length; size += 1) {
    const parser = new SseParser();
    const events = [];
    for (let at = 0; at < text.length; at += size) events.push(...parser.push(text.slice(at, at + size)));
    expect(events).toEqual([
      { event: "message", data: '{"kind":"job"}', id: "7" },
      { event: "x", data: "a\nb", id: "7" },
    ]);
  }
});

test("a CRLF that is cut in the middle ends one line, not two", () => {
  const parser = new SseParser();
  expect(parser.push("data: a\r")).toEqual([]);
  expect(parser.push("\ndata: b\r\n\r\n")).toEqual([{ event: "message", data: "a\nb", id: "" }]);
});

test("a comment alone is no event", () => {
  expect(new SseParser().push(":\n\n: still here\n\n")).toEqual([]);
});

test("an endless line is refused", () => {
  expect(() => new SseParser().push("x".repeat((1 << 20) + 1))).toThrow("larger than allowed");
});
