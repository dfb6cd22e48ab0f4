import { expect, test } from "vitest";
import { level, LogBuffer, matches, MAX_LINES } from "./logBuffer";

const encode = (text: string) => new TextEncoder().encode(text);
const texts = (buffer: LogBuffer) => buffer.lines().map((line) => line.text);

test("lines and characters come out whole however the bytes are cut", () => {
  const bytes = encode("größe 1\r\nzweite\nohne Ende");
  for (let size = 1; size <= bytes.length; size += 1) {
    const buffer = new LogBuffer();
    for (let at = 0; at < bytes.length; at += size) buffer.push(bytes.slice(at, at + size));
    expect(texts(buffer)).toEqual(["größe 1", "zweite", "ohne Ende"]);
  }
});

test("a progress bar shows its last state only", () => {
  const buffer = new LogBuffer();
  buffer.push(encode("10%\r50%\r100%\ndone\n"));
  expect(texts(buffer)).toEqual(["100%", "done"]);
});

test("one bad byte spoils one character, not the log", () => {
  const buffer = new LogBuffer();
  buffer.push(new Uint8Array([97, 0xff, 98, 10, 99, 10]));
  expect(texts(buffer)).toEqual(["a\ufffdb", "c"]);
});

test("old lines are let go and counted, numbers stay true", () => {
  const buffer = new LogBuffer();
  for (let n = 0; n < MAX_LINES + 5_000; n += 100) buffer.push(encode("x\n".repeat(100)));
  expect(buffer.lines()).toHaveLength(MAX_LINES);
  expect(buffer.dropped()).toBe(5_000);
  expect(buffer.lines()[0]?.number).toBe(5_001);
});

test("an endless line is cut instead of growing", () => {
  const buffer = new LogBuffer();
  buffer.push(encode("y".repeat(25_000)));
  expect(texts(buffer).map((text) => text.length)).toEqual([10_000, 10_000, 5_000]);
});

test("search ignores case and colour codes", () => {
  const buffer = new LogBuffer();
  buffer.push(encode("a\n\x1b[31mLo\x1b[0mss 3\n"));
  expect(matches(buffer.lines(), "loss")).toEqual([2]);
  expect(matches(buffer.lines(), "")).toEqual([]);
});

test("errors are told from talk about errors", () => {
  expect(level("ray.exceptions.OutOfMemoryError: Task was killed")).toBe("error");
  expect(level("Traceback (most recent call last):")).toBe("error");
  expect(level("2026-03-01 WARNING worker.py:1 slow")).toBe("warning");
  expect(level("validation error rate 0.1")).toBe("");
});
