import { useSyncExternalStore } from "react";
import { now } from "../api/clock";
import { absolute, age, bothZones, clock, duration } from "../format/time";
import { usePreferences } from "./preferences";

type At = string | null | undefined;

/** How long ago, ticking; both zones on hover. */
export function Ago({ at, suffix = " ago", missing = "never" }: { at: At; suffix?: string; missing?: string }) {
  const current = useNow();
  if (!at) return <span className="muted">{missing}</span>;
  return <Stamp at={at}>{age(current - Date.parse(at)) + suffix}</Stamp>;
}

/** Date and time in the chosen zone. */
export function When({ at, missing = "–" }: { at: At; missing?: string }) {
  const { zone } = usePreferences();
  if (!at) return <span className="muted">{missing}</span>;
  return <Stamp at={at}>{absolute(at, zone)}</Stamp>;
}

/** Time of day in the chosen zone. */
export function Clock({ at }: { at: string }) {
  const { zone } = usePreferences();
  return <Stamp at={at}>{clock(at, zone)}</Stamp>;
}

/** From `from` to `to`, or ticking to now. */
export function Span({ from, to, missing = "–" }: { from: At; to: At; missing?: string }) {
  const current = useNow();
  if (!from) return <span className="muted">{missing}</span>;
  const end = to ? Date.parse(to) : current;
  return <span className="nowrap">{duration(end - Date.parse(from))}</span>;
}

function Stamp({ at, children }: { at: string; children: string }) {
  return (
    <time className="nowrap" dateTime={at} title={bothZones(at)}>
      {children}
    </time>
  );
}

let second = Math.floor(now() / 1_000);
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

/** The control plane's time in milliseconds, moving once a second while the page is looked at. One timer for the page. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => second) * 1_000;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (timer === undefined) {
    second = Math.floor(now() / 1_000);
    timer = setInterval(tick, 1_000);
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

function tick(): void {
  if (document.hidden) return;
  second = Math.floor(now() / 1_000);
  listeners.forEach((listener) => listener());
}
