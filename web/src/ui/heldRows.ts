import { useState } from "react";

/** What a list shows while its rows are held still. */
export interface Held<T> {
  rows: T[];
  /** Ids that are still shown though the newest answer no longer has them. */
  gone: Set<string>;
  /** How many rows of the newest answer are not shown yet. */
  waiting: number;
}

/** Merges a newer answer into what is on screen without moving a row: known rows take their new content in place. */
export function hold<T>(shown: T[], newest: T[], idOf: (row: T) => string): Held<T> {
  const byId = new Map(newest.map((row) => [idOf(row), row]));
  const rows = shown.map((row) => byId.get(idOf(row)) ?? row);
  const known = new Set(shown.map(idOf));
  return {
    rows,
    gone: new Set([...known].filter((id) => !byId.has(id))),
    waiting: newest.filter((row) => !known.has(idOf(row))).length,
  };
}

/**
 * Rows that do not jump: while `still` (the pointer is on the list, or it is scrolled) rows keep their places and newer
 * ones wait behind a notice; otherwise the newest answer is shown at once. `scope` names the query; another scope is
 * another list and never held.
 */
export function useHeldRows<T>(newest: T[], idOf: (row: T) => string, scope: string, still: boolean): Held<T> & { release: () => void } {
  const [shown, setShown] = useState({ scope, rows: newest });
  const fresh = !still || shown.scope !== scope || shown.rows.length === 0;
  // Remembered while rendering, so that the rows on screen and the rows held from the next moment on are the same.
  if (fresh && (shown.rows !== newest || shown.scope !== scope)) setShown({ scope, rows: newest });
  const release = () => setShown({ scope, rows: newest });
  if (fresh) return { rows: newest, gone: new Set(), waiting: 0, release };
  return { ...hold(shown.rows, newest, idOf), release };
}
