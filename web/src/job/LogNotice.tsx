import type { LogStatus } from "../api/logs";
import { grouped } from "../format/amount";

/** Whether the log is still growing, complete, or interrupted. */
export function LogNotice({ status, lines }: { status: LogStatus; lines: number }) {
  const count = `${grouped(String(lines))} ${lines === 1 ? "line" : "lines"}`;
  switch (status.kind) {
    case "opening":
      return <small>opening…</small>;
    case "following":
      return <small className="log-live"><i aria-hidden="true" />following, {count}</small>;
    case "retrying":
      return <small role="status">interrupted, trying again… {count}</small>;
    case "complete":
      return <small>complete, {count}</small>;
    case "failed":
      return <small>unavailable</small>;
  }
}
