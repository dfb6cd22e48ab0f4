import { useState } from "react";
import type { JobDetail } from "../api/types";
import { jobCommands } from "../format/command";
import { Button, Copy } from "../ui/Button";
import { Banner } from "../ui/Feedback";
import { Icon } from "../ui/Icon";
import { State } from "../ui/State";
import { isTerminal } from "../ui/state";
import { Ago, Clock } from "../ui/Time";
import { CancelDialog } from "./CancelDialog";
import { Phases } from "./Phases";

/** Name, state and the one sentence that says what the job is doing and why. */
export function JobHead({ detail }: { detail: JobDetail }) {
  const { job } = detail;
  const [cancelling, setCancelling] = useState(false);
  const live = !isTerminal(job.state);
  return (
    <header className="job-head">
      <div className="job-title">
        <h1>{job.name}</h1>
        <State word={job.state} large />
        <div className="actions">
          <CommandMenu commands={jobCommands(job.id, job.state === "queued", live)} />
          {live && <Button look="danger" icon="stop" disabled={job.state === "stopping"} onClick={() => setCancelling(true)}>{job.state === "stopping" ? "Cancelling…" : "Cancel"}</Button>}
        </div>
      </div>
      <p className="job-sentence">{job.sentence}</p>
      {job.stale_since && (
        <Banner tone="amber" icon="mute">
          <strong>{job.cluster ?? "The cluster"} is silent since <Clock at={job.stale_since} /></strong> (<Ago at={job.stale_since} />). What you see is its last word; the job may have moved on, and its facts arrive when the cluster is heard again.
        </Banner>
      )}
      <Phases detail={detail} />
      {cancelling && <CancelDialog job={job} onClose={() => setCancelling(false)} />}
    </header>
  );
}

function CommandMenu({ commands }: { commands: { label: string; text: string }[] }) {
  return (
    <details className="menu" onBlur={(event) => {
      if (!event.currentTarget.contains(event.relatedTarget)) event.currentTarget.open = false;
    }} onKeyDown={(event) => {
      if (event.key === "Escape") event.currentTarget.open = false;
    }}>
      <summary className="button button-plain"><Icon name="terminal" />Copy as CLI</summary>
      <ul className="menu-body">
        {commands.map(({ label, text }) => (
          <li key={label}>
            <div><span>{label}</span><code>{text}</code></div>
            <Copy text={text} label={`command “${label}”`} />
          </li>
        ))}
      </ul>
    </details>
  );
}
