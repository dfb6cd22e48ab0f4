import { useSyncExternalStore } from "react";

/** One sentence on what just happened, for everybody: shown for a moment and read out by screen readers. */
let text = "";
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

export function announce(sentence: string): void {
  text = sentence;
  clearTimeout(timer);
  timer = setTimeout(() => {
    text = "";
    tell();
  }, 5_000);
  tell();
}

export function useAnnouncement(): string {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, () => text);
}

function tell(): void {
  listeners.forEach((listener) => listener());
}
