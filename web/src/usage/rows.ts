import type { Usage, UsageRow } from "../api/types";

/** What a report may be grouped by, in the order of its columns. */
export const GROUPS = ["kind", "team", "job", "cluster"] as const;
export type Group = (typeof GROUPS)[number];

export const AMOUNTS = ["cpu_hours", "memory_gib_hours", "gpu_hours", "amount"] as const;

/** Groups named in an address, in column order; `kind` and `team` when it names none. */
export function readGroups(params: URLSearchParams): Group[] {
  const asked = (params.get("by") ?? "").split(",");
  const known = GROUPS.filter((group) => asked.includes(group));
  return known.length > 0 ? known : ["kind", "team"];
}

/** The report exactly as the screen shows it: the same columns, rows and total, the digits of the server. */
export function asTable(usage: Usage, groups: Group[]): { header: string[]; rows: string[][] } {
  const header = [...groups, "cpu_hours", "memory_gib_hours", "gpu_hours", `amount_${usage.currency || "none"}`];
  const line = (row: UsageRow, first?: string) => [
    ...groups.map((group, index) => (index === 0 && first ? first : row[group])),
    ...AMOUNTS.map((key) => row[key]),
  ];
  return { header, rows: [...usage.rows.map((row) => line(row)), line(usage.total, "total")] };
}

/** A stretch of the bar. */
export interface Share {
  label: string;
  amount: number;
  /** In percent of the whole, for drawing only. */
  percent: number;
}

/** Amounts summed by the first group, largest first; what is beyond `most` becomes one rest. For drawing, not for billing. */
export function shares(usage: Usage, group: Group, most = 7): Share[] {
  const sums = new Map<string, number>();
  for (const row of usage.rows) {
    const label = labelOf(row, group);
    sums.set(label, (sums.get(label) ?? 0) + Math.max(0, Number(row.amount_exact) || Number(row.amount) || 0));
  }
  const total = [...sums.values()].reduce((a, b) => a + b, 0);
  if (total <= 0) return [];
  const sorted = [...sums].sort(([a, x], [b, y]) => y - x || a.localeCompare(b, "en"));
  const head = sorted.length > most ? sorted.slice(0, most - 1) : sorted;
  const rest = sorted.slice(head.length).reduce((sum, [, amount]) => sum + amount, 0);
  const all = rest > 0 ? [...head, [`${sorted.length - head.length} others`, rest] as const] : head;
  return all.map(([label, amount]) => ({ label, amount, percent: (amount / total) * 100 }));
}

/** Which of the seven colours a share has: what belongs to nobody always the same, teams and jobs in their order. */
export function colourOf(drawn: Share[], index: number): number {
  const label = drawn[index]?.label ?? "";
  const fixed = FIXED.get(label);
  if (fixed !== undefined) return fixed;
  const before = drawn.slice(0, index).filter((share) => !FIXED.has(share.label)).length;
  return FREE[before % FREE.length] ?? 0;
}

const FIXED = new Map([["shared", 2], ["overhead", 3], ["idle", 6]]);
const FREE = [0, 1, 4, 5, 2, 3, 6];

/** The row's cell in words: rows outside every team say what they are. */
export function labelOf(row: UsageRow, group: Group): string {
  return row[group] || (row.kind && row.kind !== "team" ? row.kind : "") || "no " + group;
}
