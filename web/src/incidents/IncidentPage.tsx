import { Link, useParams } from "react-router";
import { useIncident } from "../api/queries";
import type { Evidence, Incident, Resolved } from "../api/types";
import { zoneName } from "../format/time";
import { Empty, Loaded } from "../ui/Feedback";
import { Card, Crumbs, Facts, useTitle, Verbatim } from "../ui/Layout";
import { usePreferences } from "../ui/preferences";
import { State } from "../ui/State";
import { Ago, When } from "../ui/Time";
import { ResolveButton } from "./ResolveButton";

/** One incident: verdict, why these facts are one cause, the evidence as it stood, whom it hit, what to do. */
export function IncidentPage() {
  const { incident = "" } = useParams();
  const query = useIncident(incident);
  useTitle(query.data?.title ?? "Incident");
  return (
    <>
      <Crumbs to="/incidents" label="Incidents" />
      <Loaded query={query} lines={8}>{(data) => <Detail incident={data} />}</Loaded>
    </>
  );
}

function Detail({ incident }: { incident: Incident }) {
  return (
    <>
      <header className="job-head">
        <div className="job-title">
          <h1>{incident.title}</h1>
          <State word={incident.severity} large />
          <State word={incident.state} large />
        </div>
        <p className="job-sentence">{incident.explanation}</p>
        {incident.resolved && <Ended end={incident.resolved} />}
        {incident.next_step && <p className="next-step"><b>Next</b> {incident.next_step}</p>}
        {!incident.resolved && <ResolveButton incident={incident} />}
      </header>
      <div className="columns">
        <div className="column">
          <HitJobs incident={incident} />
          <EvidenceList evidence={incident.evidence} />
        </div>
        <aside className="column-side">
          <Card title="Incident">
            <Facts items={[
              ["Verdict", <code key="v">{incident.verdict}</code>],
              ["Cluster", <Link key="c" to="/clusters">{incident.cluster}</Link>],
              ["Node", incident.node && <code key="n">{incident.node}</code>],
              ["First seen", <When key="f" at={incident.first_seen_at} />],
              ["Last seen", <><When at={incident.last_seen_at} /> <span className="muted">(<Ago at={incident.last_seen_at} />)</span></>],
              ["Id", <code key="i">{incident.id}</code>],
            ]} />
          </Card>
        </aside>
      </div>
    </>
  );
}

/** Who ended it and why; nobody where Squadron saw that it was over. */
function Ended({ end }: { end: Resolved }) {
  return <p className="job-sentence"><b>Resolved</b> <When at={end.at} />{end.by && ` by ${end.by}`}: {end.because}</p>;
}

function HitJobs({ incident }: { incident: Incident }) {
  if (incident.jobs.length === 0) return <Card title="Jobs hit"><p className="pad muted">No job was on what broke.</p></Card>;
  return (
    <Card title="Jobs hit">
      <ul className="plain-list">
        {incident.jobs.map((job) => (
          <li key={job.id}><Link className="name" to={`/jobs/${job.id}`}>{job.name}</Link><p className="sentence">{job.because}</p></li>
        ))}
      </ul>
    </Card>
  );
}

function EvidenceList({ evidence }: { evidence: Evidence[] }) {
  const { zone } = usePreferences();
  if (evidence.length === 0) return <Empty icon="search" title="No evidence was kept" />;
  return (
    <Card title={<>Evidence <small>times in {zoneName(zone)}</small></>}>
      <ol className="evidence">
        {evidence.map((piece) => (
          <li key={piece.fact + piece.at + piece.sentence}>
            <p><When at={piece.at} /> {piece.sentence} <span className="muted">fact {piece.fact}</span></p>
            {piece.raw && <Verbatim text={piece.raw} />}
          </li>
        ))}
      </ol>
    </Card>
  );
}
