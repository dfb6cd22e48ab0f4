import { useSyncExternalStore } from "react";
import type { Zone } from "../format/time";

/** How this browser wants to see things. Kept in the browser; holds nothing secret. */
export type Theme = "auto" | "light" | "dark";

interface Preferences {
  zone: Zone;
  theme: Theme;
}

const KEY = "squadron.preferences";
const listeners = new Set<() => void>();
let current: Preferences = load();

export function usePreferences(): Preferences {
  return useSyncExternalStore(subscribe, () => current);
}

export function prefer(change: Partial<Preferences>): void {
  current = { ...current, ...change };
  applyTheme();
  try {
    localStorage.setItem(KEY, JSON.stringify(current));
  } catch {
    // A browser that keeps nothing still shows what was chosen until the page is closed.
  }
  listeners.forEach((listener) => listener());
}

export function applyTheme(): void {
  const root = document.documentElement;
  if (current.theme === "auto") root.removeAttribute("data-theme");
  else root.setAttribute("data-theme", current.theme);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function load(): Preferences {
  let stored: Partial<Preferences> = {};
  try {
    stored = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Preferences>;
  } catch {
    // Unreadable preferences are no preferences.
  }
  return {
    zone: stored.zone === "local" ? "local" : "utc",
    theme: stored.theme === "light" || stored.theme === "dark" ? stored.theme : "auto",
  };
}
