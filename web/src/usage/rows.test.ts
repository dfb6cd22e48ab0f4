import { expect, test } from "vitest";
import type { Usage, UsageRow } from "../api/types";
import { csv } from "../format/csv";
import { asTable, colourOf, labelOf, readGroups, shares } from "./rows";

const row = (part: Partial<UsageRow>): UsageRow => ({
  kind: "", team: "", job: "", cluster: "", cpu_hours: "1.000000", memory_gib_hours: "2.000000", gpu_hours: "0.000000", amount: "1.00", amount_exact: "100", ...part,
});

const usage: Usage = {
  from: "2026-03-01T00:00:00Z", to: "2026-03-02T00:00:00Z", currency: "EUR",
  rows: [row({ kind: "team", team: "research", amount: "3.00", amount_exact: "300" }), row({ kind: "idle" })],
  total: row({ amount: "4.00", amount_exact: "400" }), capacity_amount: "4.00", reconciliation: "", notes: [],
};

test("the exported table is what the screen shows, total included", () => {
  const { header, rows } = asTable(usage, ["kind", "team"]);
  expect(csv(header, rows)).toBe(
    "kind,team,cpu_hours,memory_gib_hours,gpu_hours,amount_EUR\r\n" +
      "team,research,1.000000,2.000000,0.000000,3.00\r\n" +
      "idle,,1.000000,2.000000,0.000000,1.00\r\n" +
      "total,,1.000000,2.000000,0.000000,4.00\r\n",
  );
});

test("shares are drawn from exact amounts, largest first", () => {
  expect(shares(usage, "kind")).toEqual([{ label: "team", amount: 300, percent: 75 }, { label: "idle", amount: 100, percent: 25 }]);
});

test("many small shares become one, and nothing is lost", () => {
  const many = { ...usage, rows: Array.from({ length: 20 }, (_, n) => row({ job: `j${n}` })) };
  const drawn = shares(many, "job", 7);
  expect(drawn).toHaveLength(7);
  expect(drawn.at(-1)?.label).toBe("14 others");
  expect(drawn.reduce((sum, share) => sum + share.percent, 0)).toBeCloseTo(100);
});

test("idle is grey wherever it stands, and neighbours differ", () => {
  const drawn = ["idle", "a", "shared", "b", "c"].map((label) => ({ label, amount: 1, percent: 20 }));
  expect(drawn.map((_, index) => colourOf(drawn, index))).toEqual([6, 0, 2, 1, 4]);
});

test("nothing spent draws nothing", () => {
  expect(shares({ ...usage, rows: [row({ amount: "0.00", amount_exact: "0" })] }, "kind")).toEqual([]);
});

test("a row of no team says what it is", () => {
  expect(labelOf(row({ kind: "idle" }), "team")).toBe("idle");
  expect(labelOf(row({}), "team")).toBe("no team");
});

test("groups come in column order whatever the address says", () => {
  expect(readGroups(new URLSearchParams("by=cluster,team,nonsense"))).toEqual(["team", "cluster"]);
  expect(readGroups(new URLSearchParams())).toEqual(["kind", "team"]);
});
