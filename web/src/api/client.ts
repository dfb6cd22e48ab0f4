import { ApiError, problemOf, unreachable } from "./problem";

export const BASE = "/api/v1";

export type Query = Record<string, string | number | boolean | null | undefined>;

/** `path` below the API's base with the query's set values; empty ones are left out. */
export function apiUrl(path: string, query: Query = {}): string {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") params.set(key, String(value));
  }
  const text = params.toString();
  return text ? `${BASE}${path}?${text}` : `${BASE}${path}`;
}

/** Sends a request; throws [`ApiError`] on any answer of 400 and above, and when none comes. */
export async function send(url: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(url, { credentials: "same-origin", ...init }).catch((error: unknown) => {
    if (init.signal?.aborted) throw error;
    throw new ApiError(unreachable());
  });
  if (!response.ok) throw new ApiError(await problemOf(response));
  return response;
}

export async function get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
  const response = await send(apiUrl(path, query), signal ? { signal } : {});
  return (await response.json()) as T;
}

/** Posts `body` as JSON. The answer is `undefined` when the server sends none. */
export async function post<T>(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
  const json = body === undefined ? {} : { "content-type": "application/json" };
  return write<T>("POST", path, { ...json, ...headers }, body === undefined ? undefined : JSON.stringify(body));
}

/** Puts a document in YAML as it is. */
export async function putYaml<T>(path: string, text: string): Promise<T> {
  return write<T>("PUT", path, { "content-type": "application/yaml" }, text);
}

export async function remove(path: string): Promise<void> {
  await write<undefined>("DELETE", path, {});
}

async function write<T>(method: string, path: string, headers: Record<string, string>, body?: string): Promise<T> {
  // A page of another origin cannot send this header, so the cookie alone never writes.
  const init: RequestInit = { method, headers: { "x-squadron-csrf": "1", ...headers } };
  if (body !== undefined) init.body = body;
  const response = await send(apiUrl(path), init);
  const text = await response.text();
  return (text ? JSON.parse(text) : undefined) as T;
}
