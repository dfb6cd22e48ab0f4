import type { About } from "./types";
import { get } from "./client";

/** The control plane's clock minus this browser's, in milliseconds. */
let offset = 0;

/** Now as the control plane sees it, in milliseconds since 1970: ages stay true when this machine's clock is off. */
export function now(): number {
  return Date.now() + offset;
}

/** Asks the control plane for its time once; the version it answers with is shown in the frame. */
export async function learnClock(signal?: AbortSignal): Promise<About> {
  const sent = Date.now();
  const about = await get<About>("/version", {}, signal);
  offset = offsetFrom(about.now, sent, Date.now());
  return about;
}

/** Half of the round trip is unknown, so a difference within it counts as none. */
export function offsetFrom(server: string, sent: number, received: number): number {
  const measured = Date.parse(server) - (sent + received) / 2;
  const unknown = (received - sent) / 2 + 250;
  return Number.isFinite(measured) && Math.abs(measured) > unknown ? Math.round(measured) : 0;
}
