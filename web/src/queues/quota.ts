import type { QueueQuota, WhatIfStanding } from "../api/types";
import { bytes, cpu } from "../format/amount";

/** A part of a bar, in the unit of its resource. */
export interface Part {
  kind: "own" | "lent" | "free" | "borrowed";
  amount: number;
}

/** What a queue has, divided by who uses it, and behind that what it borrows. Empty when use cannot be told. */
export function partsOf(quota: QueueQuota): Part[] {
  const { total, used, borrowed, lent } = quota;
  if (used == null || borrowed == null) return [];
  const own = Math.max(0, used - borrowed);
  const given = Math.min(lent ?? 0, Math.max(0, total - own));
  const parts: Part[] = [
    { kind: "own", amount: own },
    { kind: "lent", amount: given },
    { kind: "free", amount: Math.max(0, total - own - given) },
    { kind: "borrowed", amount: borrowed },
  ];
  return parts.filter((part) => part.amount > 0);
}

/** An amount in the unit of its resource, or that nobody knows. */
export function amountOf(resource: string, amount: number | null | undefined): string {
  if (amount == null) return "unknown";
  if (resource === "cpu") return cpu(amount);
  if (resource === "memory") return bytes(amount);
  return String(amount);
}

/** `12 of 8, 4 borrowed`: what the bar shows, in words. */
export function sentenceOf(quota: QueueQuota): string {
  const show = (amount: number | null | undefined) => amountOf(quota.resource, amount);
  const more = ([["borrowed", quota.borrowed], ["lent", quota.lent]] as const).filter(([, amount]) => (amount ?? 0) > 0);
  return [`${show(quota.used)} of ${show(quota.total)}`, ...more.map(([word, amount]) => `${show(amount)} ${word}`)].join(", ");
}

/** A weighted share in thousandths as per cent; a root has none. */
export function shareOf(share: number | null | undefined, isRoot: boolean): string {
  if (share == null) return isRoot ? "–" : "unknown";
  return `${Math.floor(share / 10)}.${share % 10} %`;
}

/** GPU seconds of a flavor of weight 1 as GPU hours. */
export function gpuHours(seconds: number | undefined): string {
  return `${((seconds ?? 0) / 3_600).toFixed(1)} GPU-h`;
}

/** An amount as a Kubernetes quantity that reads as exactly the same: `16`, `500m`, `64Gi`. */
export function quantityOf(resource: string, amount: number): string {
  if (resource === "cpu") return amount % 1_000 === 0 ? String(amount / 1_000) : `${amount}m`;
  if (resource !== "memory") return String(amount);
  const units = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];
  let [value, unit] = [amount, 0];
  while (value > 0 && value % 1_024 === 0 && unit < units.length - 1) {
    value /= 1_024;
    unit += 1;
  }
  return `${value}${units[unit] ?? ""}`;
}

/** One flavor and resource of a queue before and after. */
export interface Line {
  key: string;
  resource: string;
  old: QueueQuota | undefined;
  now: QueueQuota | undefined;
}

/** Every flavor and resource of either side. */
export function linesOf(before: WhatIfStanding | null | undefined, after: WhatIfStanding | null | undefined): Line[] {
  const name = ({ flavor, resource }: QueueQuota) => `${flavor} ${resource}`;
  const [old, now] = [before?.quotas ?? [], after?.quotas ?? []];
  const keys = [...new Set([...old, ...now].map(name))].sort();
  return keys.map((key) => {
    const find = (lines: QueueQuota[]) => lines.find((line) => name(line) === key);
    return { key, resource: key.slice(key.lastIndexOf(" ") + 1), old: find(old), now: find(now) };
  });
}

/** `8 → 16`, or only `8` where nothing moves. */
export function moved(before: string, after: string): string {
  return before === after ? before : `${before} → ${after}`;
}

/** The command that applies a policy, with the policy in it. */
export function applyCommand(yaml: string): string {
  return `squadron apply -f - <<'EOF'\n${yaml.endsWith("\n") ? yaml : `${yaml}\n`}EOF`;
}
