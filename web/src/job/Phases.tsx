import type { JobDetail } from "../api/types";
import { duration } from "../format/time";
import { isTerminal } from "../ui/state";
import { useNow } from "../ui/Time";
import { phasesOf, widths, type Phase } from "./phases";

const LASTING: Record<Phase["name"], string> = { Waited: "Waiting", Started: "Starting", Ran: "Running" };

/** Where the time went, as one bar: waiting, starting, running. */
export function Phases({ detail }: { detail: JobDetail }) {
  const now = useNow();
  const phases = phasesOf(detail);
  const over = isTerminal(detail.job.state);
  const lengths = phases.map(({ from, to }) => (to ? Date.parse(to) : now) - Date.parse(from));
  const shares = widths(lengths);
  return (
    <ol className="phases" aria-label="Where the time went">
      {phases.map(({ name, to }, index) => (
        <li key={name} className={`phase phase-${name.toLowerCase()}${to || over ? "" : " phase-open"}`} style={{ flexGrow: shares[index] ?? 1 }}>
          <span className="phase-bar" aria-hidden="true" />
          <span className="phase-text">{to || over ? name : LASTING[name]} <b>{duration(lengths[index] ?? 0)}</b></span>
        </li>
      ))}
    </ol>
  );
}
