import type { LogStatus } from "../api/logs";
import { grouped } from "../format/amount";

/** Whether the log is still growing, complete, or interrupted. */
export function LogNotice({ status, lines, ended }: { status: LogStatus; lines: number; ended: boolean }) {
  const count = `${grouped(String(lines))} ${lines === 1 ? "line" : "lines"}`;
  switch (status.kind) {
    case "opening":
      return <small>opening…</small>;
    case "following":
      // Nothing is written any more; what is left is read to its end.
      if (ended) return <small>reading to the end, {count}</small>;
      return <small className="log-live"><i aria-hidden="true" />following, {count}</small>;
    case "retrying":
      return <small role="status">interrupted, trying again… {count}</small>;
    case "complete":
      return <small>complete, {count}</small>;
    case "failed":
      return <small>unavailable</small>;
  }
}
