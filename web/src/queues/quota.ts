import type { QueueQuota } from "../api/types";
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
