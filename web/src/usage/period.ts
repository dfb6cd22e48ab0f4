/** The time range of a report: whole days in UTC on screen, half-open instants in the API. */
export interface Period {
  /** First day, `2026-03-01`. */
  first: string;
  /** Last day, included. */
  last: string;
}

export const PRESETS = { today: "Today", week: "7 days", month: "This month", previous: "Last month" } as const;
export type Preset = keyof typeof PRESETS;

const DAY_MS = 86_400_000;

/** The days of a preset, seen from `now` (milliseconds since 1970). */
export function presetPeriod(preset: Preset, now: number): Period {
  const today = new Date(now);
  const [year, month] = [today.getUTCFullYear(), today.getUTCMonth()];
  switch (preset) {
    case "today":
      return { first: day(now), last: day(now) };
    case "week":
      return { first: day(now - 6 * DAY_MS), last: day(now) };
    case "month":
      return { first: day(Date.UTC(year, month, 1)), last: day(now) };
    case "previous":
      return { first: day(Date.UTC(year, month - 1, 1)), last: day(Date.UTC(year, month, 1) - DAY_MS) };
  }
}

/** Which preset these days are, if any. */
export function presetOf(period: Period, now: number): Preset | "" {
  const names = Object.keys(PRESETS) as Preset[];
  return names.find((name) => same(presetPeriod(name, now), period)) ?? "";
}

/** What to ask the API for. The end is left to the server while it lies in the future. */
export function bounds(period: Period, now: number): { from: string; to: string | undefined } {
  const end = Date.parse(`${period.last}T00:00:00Z`) + DAY_MS;
  return { from: `${period.first}T00:00:00Z`, to: end > now ? undefined : new Date(end).toISOString().replace(".000", "") };
}

/** The period of an address; this month when it names none or nonsense. */
export function readPeriod(params: URLSearchParams, now: number): Period {
  const [first, last] = [params.get("from") ?? "", params.get("to") ?? ""];
  return isDay(first) && isDay(last) && first <= last ? { first, last } : presetPeriod("month", now);
}

export function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(`${text}T00:00:00Z`));
}

function day(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

function same(a: Period, b: Period): boolean {
  return a.first === b.first && a.last === b.last;
}
