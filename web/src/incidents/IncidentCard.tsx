import { Link } from "react-router";
import type { Incident } from "../api/types";
import { plural } from "../format/amount";
import { State } from "../ui/State";
import { Ago } from "../ui/Time";

/** An incident in short: the cause, where, whom it hit, what to do. */
export function IncidentCard({ incident }: { incident: Incident }) {
  return (
    <article className={`card incident-card severity-${incident.severity}`}>
      <header>
        <State word={incident.severity} />
        <h2><Link to={`/incidents/${incident.id}`}>{incident.title}</Link></h2>
        <State word={incident.state} />
      </header>
      <p>{incident.explanation}</p>
      {incident.next_step && <p className="next-step"><b>Next</b> {incident.next_step}</p>}
      <footer>
        <code>{incident.verdict}</code>
        <span>{incident.cluster}{incident.node && ` / ${incident.node}`}</span>
        <span>{plural(incident.jobs.length, "job")} hit</span>
        <span>{plural(incident.evidence.length, "piece")} of evidence</span>
        <span>last seen <Ago at={incident.last_seen_at} /></span>
        {incident.resolved?.by && <span>resolved by {incident.resolved.by}: {incident.resolved.because}</span>}
      </footer>
    </article>
  );
}
