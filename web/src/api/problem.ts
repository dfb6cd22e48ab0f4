import type { Problem } from "./types";

/** An answer that is no success, or no answer at all. Carries what to tell the person. */
export class ApiError extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.name = "ApiError";
    this.problem = problem;
  }
}

/** The problem that a failed response carries; one made from the status when its body is no problem document. */
export async function problemOf(response: Response): Promise<Problem> {
  const text = await response.text().catch(() => "");
  return parseProblem(text) ?? unreadable(response.status, response.headers.get("x-request-id") ?? "");
}

export function parseProblem(text: string): Problem | null {
  try {
    const value: unknown = JSON.parse(text);
    return isProblem(value) ? value : null;
  } catch {
    return null;
  }
}

/** Nothing came back: the network, the proxy or the control plane itself. */
export function unreachable(): Problem {
  return {
    code: "NO_ANSWER",
    status: 0,
    detail: "The control plane did not answer.",
    next_step: "Check that it runs and that this machine reaches it; the page tries again by itself.",
    request_id: "",
  };
}

/** Whatever was thrown, as a problem that can be shown. */
export function asProblem(error: unknown): Problem {
  if (error instanceof ApiError) return error.problem;
  const detail = error instanceof Error ? error.message : String(error);
  return { code: "CONSOLE", status: 0, detail, next_step: "Reload the page; if it stays, report it.", request_id: "" };
}

function unreadable(status: number, requestId: string): Problem {
  return {
    code: `HTTP ${status}`,
    status,
    detail: `The answer had status ${status} and did not say why.`,
    next_step: "Something between this browser and the control plane may have answered; check proxies.",
    request_id: requestId,
  };
}

function isProblem(value: unknown): value is Problem {
  if (typeof value !== "object" || value === null) return false;
  const { code, detail, next_step: next } = value as Record<string, unknown>;
  return typeof code === "string" && typeof detail === "string" && typeof next === "string";
}
