/** Which zone times are shown in: UTC or the browser's own. */
export type Zone = "utc" | "local";

const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;

/** `2 h 05 m`, `3 d 04 h`, `41 s`: two units at most, never negative. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < MINUTE) return `${seconds} s`;
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} m ${two(seconds % MINUTE)} s`;
  if (seconds < DAY) return `${Math.floor(seconds / HOUR)} h ${two(Math.floor((seconds % HOUR) / MINUTE))} m`;
  return `${Math.floor(seconds / DAY)} d ${two(Math.floor((seconds % DAY) / HOUR))} h`;
}

/** One unit: `41 s`, `12 m`, `5 h`, `3 d`. For ages in tables. */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < MINUTE) return `${seconds} s`;
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} m`;
  if (seconds < 2 * DAY) return `${Math.floor(seconds / HOUR)} h`;
  return `${Math.floor(seconds / DAY)} d`;
}

/** `2026-03-01 12:04:05` in the zone. */
export function absolute(iso: string, zone: Zone): string {
  const { year, month, day, hour, minute, second } = parts(iso, zone);
  return `${year}-${month}-${day} ${hour}:${minute}:${second}`;
}

/** `12:04:05` in the zone. */
export function clock(iso: string, zone: Zone): string {
  const { hour, minute, second } = parts(iso, zone);
  return `${hour}:${minute}:${second}`;
}

/** `2026-03-01` in the zone: tells whether two times fall on the same day. */
export function dayOf(iso: string, zone: Zone): string {
  const { year, month, day } = parts(iso, zone);
  return `${year}-${month}-${day}`;
}

/** Both zones, for the tooltip that every time carries. */
export function bothZones(iso: string): string {
  return `${absolute(iso, "utc")} UTC\n${absolute(iso, "local")} ${zoneName("local")}`;
}

/** `UTC`, or the name of the browser's zone, for example `Europe/Berlin`. */
export function zoneName(zone: Zone): string {
  return zone === "utc" ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone;
}

type Part = "year" | "month" | "day" | "hour" | "minute" | "second";
const formats = new Map<Zone, Intl.DateTimeFormat>();

function parts(iso: string, zone: Zone): Record<Part, string> {
  const found: Record<Part, string> = { year: "----", month: "--", day: "--", hour: "--", minute: "--", second: "--" };
  const at = Date.parse(iso);
  if (Number.isNaN(at)) return found;
  for (const { type, value } of formatOf(zone).formatToParts(at)) {
    if (type in found) found[type as Part] = value;
  }
  return found;
}

function formatOf(zone: Zone): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat("en-GB", {
      ...(zone === "utc" ? { timeZone: "UTC" } : {}),
      hourCycle: "h23",
      year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit",
    });
    formats.set(zone, format);
  }
  return format;
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
