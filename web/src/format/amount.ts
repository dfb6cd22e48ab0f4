import type { Resources } from "../api/types";

/** `2.5`, from thousandths of a core, exactly. */
export function cpu(milli: number): string {
  return trim(milli / 1_000, 3);
}

/** `1.5 GiB`: binary units, at most one decimal, rounded down so that nothing is promised that is not there. */
export function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = count / 1024;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${trim(Math.floor(value * 10) / 10, 1)} ${units[unit]}`;
}

/** `4 CPU, 6 GiB, 1 GPU`; dimensions of nothing are left out. */
export function resources(amount: Resources): string {
  const parts: string[] = [];
  if (amount.cpu_milli > 0) parts.push(`${cpu(amount.cpu_milli)} CPU`);
  if (amount.memory_bytes > 0) parts.push(bytes(amount.memory_bytes));
  if (amount.gpus > 0) parts.push(`${amount.gpus} GPU`);
  return parts.length > 0 ? parts.join(", ") : "nothing";
}

/** `12.50`, `0.0315`: a price from ten-thousandths, exactly, with at least two decimals. */
export function price(tenThousandths: number): string {
  return (tenThousandths / 10_000).toFixed(4).replace(/0{1,2}$/, "");
}

/** Used part of the whole in percent, whole numbers; 0 when there is nothing. A little never rounds to nothing. */
export function percent(used: number, whole: number): number {
  if (whole <= 0 || used <= 0) return 0;
  return Math.min(100, Math.max(1, Math.round((used / whole) * 100)));
}

/** `3 jobs`, `1 job`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** `+1.2 s`, `-340 ms`: our clock minus the agent's. */
export function skew(ms: number): string {
  const sign = ms > 0 ? "+" : ms < 0 ? "−" : "";
  const size = Math.abs(ms);
  return size < 1_000 ? `${sign}${size} ms` : `${sign}${trim(size / 1_000, 1)} s`;
}

/** `1234.5` as `1,234.5`: groups the digits of a decimal text without touching its precision. */
export function grouped(decimal: string): string {
  const match = /^([+-]?)(\d+)(\.\d+)?$/.exec(decimal);
  if (!match) return decimal;
  const [, sign = "", whole = "", fraction = ""] = match;
  return sign + whole.replace(/\B(?=(\d{3})+$)/g, ",") + fraction;
}

/** An amount of money for the screen: what is not nothing and rounds to it is `<0.01`, in the smallest step that is shown. */
export function money(decimal: string, exact: string): string {
  if (/^[0.]*0$/.test(decimal) && /[1-9]/.test(exact)) return `<${decimal.slice(0, -1)}1`;
  return grouped(decimal);
}

/** Hours for the screen, with three decimals; full precision stays in tooltip and export. */
export function hours(decimal: string): string {
  const value = Number(decimal);
  if (!Number.isFinite(value)) return decimal;
  if (value !== 0 && Math.abs(value) < 0.0005) return "< 0.001";
  return grouped(value.toFixed(3));
}

function trim(value: number, decimals: number): string {
  const text = value.toFixed(decimals);
  return decimals > 0 ? text.replace(/\.?0+$/, "") : text;
}
