import { expect, test } from "vitest";
import { bytes, cpu, grouped, hours, money, percent, plural, price, resources, skew } from "./amount";

test("memory is binary with at most one decimal", () => {
  expect([0, 1023, 1024, 1536 * 1024 ** 2, 1_717_986_917, 100 * 1024 ** 3].map(bytes)).toEqual(["0 B", "1023 B", "1 KiB", "1.5 GiB", "1.5 GiB", "100 GiB"]);
});

test("cores come from thousandths without trailing zeros", () => {
  expect([2_000, 2_500, 250, 125, 10_000].map(cpu)).toEqual(["2", "2.5", "0.25", "0.125", "10"]);
});

test("resources leave out what nobody asked for", () => {
  expect(resources({ cpu_milli: 4_000, memory_bytes: 6 * 1024 ** 3, gpus: 0 })).toBe("4 CPU, 6 GiB");
  expect(resources({ cpu_milli: 0, memory_bytes: 0, gpus: 0 })).toBe("nothing");
});

test("prices that differ are told apart", () => {
  expect([125_000, 30_000, 315, 1_250, 0, 100_001].map(price)).toEqual(["12.50", "3.00", "0.0315", "0.125", "0.00", "10.0001"]);
});

test("a used sliver is visible and an empty whole is no division by zero", () => {
  expect(percent(1, 10_000)).toBe(1);
  expect(percent(0, 0)).toBe(0);
  expect(percent(20, 10)).toBe(100);
});

test("grouping digits keeps every decimal", () => {
  expect(grouped("1234567.890123")).toBe("1,234,567.890123");
  expect(grouped("-1000")).toBe("-1,000");
  expect(grouped("n/a")).toBe("n/a");
});

test("hours on screen say when they are tiny", () => {
  expect([hours("0.000000"), hours("0.000100"), hours("1.250000"), hours("1250.5")]).toEqual(["0.000", "< 0.001", "1.250", "1,250.500"]);
});

test("counts agree with their noun and skews have a sign", () => {
  expect([plural(1, "job"), plural(3, "job")]).toEqual(["1 job", "3 jobs"]);
  expect([skew(0), skew(340), skew(-1_200)]).toEqual(["0 ms", "+340 ms", "−1.2 s"]);
});

test("little money never looks like none", () => {
  expect([money("0.00", "17"), money("0.00", "0"), money("0", "5"), money("0.10", "9"), money("1000.00", "9")]).toEqual(["<0.01", "0.00", "<1", "0.10", "1,000.00"]);
});
