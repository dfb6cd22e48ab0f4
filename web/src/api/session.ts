import { post, remove } from "./client";

/** `unknown` until the first answer says whether the browser holds a valid session. */
export type SessionState = "unknown" | "in" | "out";

let state: SessionState = "unknown";
const listeners = new Set<() => void>();

export function sessionState(): SessionState {
  return state;
}

export function subscribeSession(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function becomeSession(next: SessionState): void {
  if (state === next) return;
  state = next;
  listeners.forEach((listener) => listener());
}

/** Trades a token for a cookie that scripts cannot read. The token is kept nowhere. */
export async function signIn(token: string): Promise<void> {
  await post("/session", { token: token.trim() });
  becomeSession("in");
}

export async function signOut(): Promise<void> {
  await remove("/session");
  becomeSession("out");
}

/** The token of a login link (`#token=…`), and the address without it; `null` when there is none. */
export function tokenInFragment(hash: string): { token: string; rest: string } | null {
  const params = new URLSearchParams(hash.replace(/^#/, ""));
  const token = params.get("token");
  if (!token) return null;
  params.delete("token");
  const rest = params.toString();
  return { token, rest: rest ? `#${rest}` : "" };
}
