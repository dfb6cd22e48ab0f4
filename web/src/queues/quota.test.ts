import { expect, test } from "vitest";
import type { QueueQuota } from "../api/types";
import { amountOf, applyCommand, gpuHours, linesOf, moved, partsOf, quantityOf, sentenceOf, shareOf } from "./quota";

const quota = (part: Partial<QueueQuota>): QueueQuota => ({
  flavor: "h100", resource: "gpu", declared: true, nominal: 8, total: 8, borrowing_limit: null, lending_limit: null, used: 0, borrowed: 0, lent: 0, ...part,
});

test("a bar divides what a queue has, and shows behind it what it borrows", () => {
  expect(partsOf(quota({ used: 12, borrowed: 4 }))).toEqual([{ kind: "own", amount: 8 }, { kind: "borrowed", amount: 4 }]);
  expect(partsOf(quota({ used: 2, lent: 5 }))).toEqual([{ kind: "own", amount: 2 }, { kind: "lent", amount: 5 }, { kind: "free", amount: 1 }]);
  expect(partsOf(quota({}))).toEqual([{ kind: "free", amount: 8 }]);
});

test("a bar without quota and without use has no parts", () => {
  expect(partsOf(quota({ total: 0 }))).toEqual([]);
  expect(partsOf(quota({ used: null, borrowed: null, lent: null }))).toEqual([]);
});

test("the words say what the bar shows", () => {
  expect(sentenceOf(quota({ used: 12, borrowed: 4 }))).toBe("12 of 8, 4 borrowed");
  expect(sentenceOf(quota({ resource: "cpu", total: 8_000, used: 500, lent: 1_500 }))).toBe("0.5 of 8, 1.5 lent");
  expect(sentenceOf(quota({ used: null, borrowed: null, lent: null }))).toBe("unknown of 8");
  expect(amountOf("memory", 3 * 2 ** 30)).toBe("3 GiB");
});

test("a share is a part of a hundred, and a root has none", () => {
  expect(shareOf(166, false)).toBe("16.6 %");
  expect(shareOf(null, true)).toBe("–");
  expect(shareOf(null, false)).toBe("unknown");
});

test("use is told in GPU hours", () => {
  expect([gpuHours(undefined), gpuHours(5_400)]).toEqual(["0.0 GPU-h", "1.5 GPU-h"]);
});

test("a quantity reads as exactly the same amount", () => {
  expect([quantityOf("cpu", 64_000), quantityOf("cpu", 500), quantityOf("gpu", 8), quantityOf("memory", 3 * 2 ** 29), quantityOf("memory", 0)])
    .toEqual(["64", "500m", "8", "1536Mi", "0"]);
});

test("both sides of a change stand in one line", () => {
  const lines = linesOf({ share: 0, quotas: [quota({}), quota({ resource: "cpu", nominal: 1_000 })] }, { share: 0, quotas: [quota({ nominal: 16 })] });
  expect(lines.map(({ key, old, now }) => [key, old?.nominal, now?.nominal])).toEqual([["h100 cpu", 1_000, undefined], ["h100 gpu", 8, 16]]);
  expect([moved("8", "16"), moved("8", "8")]).toEqual(["8 → 16", "8"]);
  expect(applyCommand("kind: Queue\n")).toBe("squadron apply -f - <<'EOF'\nkind: Queue\nEOF");
});
