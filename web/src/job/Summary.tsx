import { Link } from "react-router";
import type { JobDetail } from "../api/types";
import { resources } from "../format/amount";
import { Copy } from "../ui/Button";
import { Card, Facts } from "../ui/Layout";
import { Ago, Span, When } from "../ui/Time";
import { Blockers } from "./Blockers";
import { IncidentCards } from "./JobIncidents";
import { TimelineList } from "./Timeline";

/** The facts of a job, and whatever needs attention first: what holds it up, what hit it. */
export function Summary({ detail }: { detail: JobDetail }) {
  const { job, why } = detail;
  const newest = detail.attempts.at(-1);
  const recent = [...detail.timeline].reverse().slice(0, 6);
  return (
    <div className="columns">
      <div className="column">
        {job.state === "queued" && why && <Card title={why.sentence || "Why it waits"}><Blockers why={why} /></Card>}
        {detail.incidents.length > 0 && <IncidentCards ids={detail.incidents} />}
        <Card title="Latest" actions={<Link to="?tab=timeline">Whole timeline</Link>}>
          {recent.length > 0 ? <TimelineList entries={recent} /> : <p className="muted pad">Nothing has been reported yet.</p>}
        </Card>
      </div>
      <aside className="column-side">
        <Card title="Job">
          <Facts items={[
            ["Queue", <Link key="q" to={`/jobs?queue=${encodeURIComponent(job.queue)}`}>{job.queue}</Link>],
            ["Cluster", job.cluster && <Link key="c" to="/clusters">{job.cluster}</Link>],
            ["Chosen because", newest?.chosen_because],
            ["Reason", job.reason && <code key="r">{job.reason}</code>],
            ["Ended because", newest?.ended_because],
            ["Asks for", resources(job.requests)],
            ["Cost so far", detail.cost && <Link key="m" to="?tab=cost">{detail.cost}</Link>],
            ["Owner", <Link key="o" to={`/jobs?owner=${encodeURIComponent(job.owner)}`}>{job.owner}</Link>],
            ["Arrived", detail.source && `by kubectl in ${detail.source.cluster}/${detail.source.namespace}/${detail.source.name}`],
            ["Submitted", <><When at={job.submitted_at} /> <span className="muted">(<Ago at={job.submitted_at} />)</span></>],
            ["Started", job.started_at && <When at={job.started_at} />],
            ["Ended", job.ended_at && <When at={job.ended_at} />],
            ["Ran", job.started_at && <Span from={job.started_at} to={job.ended_at} />],
            ["Namespace", <code key="n">{job.namespace}</code>],
            ["RayJob", newest && <code key="w">{newest.object}</code>],
            ["Id", <span key="i" className="copyable"><code>{job.id}</code><Copy text={job.id} label="job id" /></span>],
          ]} />
        </Card>
      </aside>
    </div>
  );
}
