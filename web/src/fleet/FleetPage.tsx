import { Link } from "react-router";
import { now } from "../api/clock";
import { useClusters, useIncidents, useJobs, useQueues, useUsage } from "../api/queries";
import { money, plural } from "../format/amount";
import { ON_CLUSTERS } from "../jobs/filter";
import { JobTable } from "../jobs/JobTable";
import { Empty, Loaded } from "../ui/Feedback";
import { Icon } from "../ui/Icon";
import { Card, PageHead } from "../ui/Layout";
import { Ago } from "../ui/Time";
import { bounds, presetPeriod } from "../usage/period";
import { attention, type Notice, ofLastDay } from "./attention";
import { ClusterStrip } from "./ClusterStrip";

/** The fleet at a glance: what runs, what waits, what is broken, what it costs. Every figure leads to its rows. */
export function FleetPage() {
  const clusters = useClusters();
  const jobs = useJobs({ limit: 8 });
  return (
    <>
      <PageHead title="Fleet" note="What runs, what waits, what needs somebody" />
      <Tiles />
      <div className="columns fleet-columns">
        <div className="column">
          <Attention />
        </div>
        <aside className="column-side">
          <Card title="Clusters" actions={<Link to="/clusters">Details</Link>}>
            <Loaded query={clusters} lines={3}>{(page) => <ClusterStrip clusters={page.items} />}</Loaded>
          </Card>
        </aside>
      </div>
      <section>
        <h2 className="section-title">Newest jobs <Link to="/jobs">all jobs</Link></h2>
        <Loaded query={jobs} lines={5}>
          {(page) => page.items.length === 0
            ? <Empty icon="jobs" title="No jobs yet"><p>Submit any RayJob manifest with <code>squadron submit rayjob.yaml -q default</code>.</p></Empty>
            : <JobTable jobs={page.items} scope="fleet" />}
        </Loaded>
      </section>
    </>
  );
}

function Tiles() {
  const queues = useQueues();
  const open = useIncidents("open");
  const usage = useUsage({ ...bounds(presetPeriod("month", now()), now()), by: "kind" });
  const sum = (key: "running" | "queued") => queues.data?.items.reduce((total, queue) => total + queue[key], 0);
  const critical = open.data?.items.filter((incident) => incident.severity === "critical").length ?? 0;
  const idle = usage.data?.rows.find((row) => row.kind === "idle");
  return (
    <ul className="tiles">
      <Tile to={`/jobs?status=${ON_CLUSTERS}`} label="On clusters" value={sum("running")} note="assigned, starting, running or stopping" />
      <Tile to="/jobs?status=queued" label="Waiting" value={sum("queued")} note="jobs in queues" />
      <Tile to="/incidents" label="Open incidents" value={open.data?.items.length} note={critical > 0 ? `${critical} critical` : "none critical"} alert={critical > 0} />
      <Tile to="/usage?by=kind,team" label="This month" value={usage.data && `${money(usage.data.total.amount, usage.data.total.amount_exact)} ${usage.data.currency}`} note={idle ? `${money(idle.amount, idle.amount_exact)} of it idle` : "no usage yet"} />
    </ul>
  );
}

function Tile({ to, label, value, note, alert = false }: { to: string; label: string; value: string | number | undefined; note: string; alert?: boolean }) {
  return (
    <li>
      <Link to={to} className={`card tile${alert ? " tile-alert" : ""}`}>
        <span>{label}</span>
        <b className="big-number">{value ?? "…"}</b>
        <span className="muted">{value === undefined ? "" : note}</span>
      </Link>
    </li>
  );
}

const SHOWN = 6;

function Attention() {
  const clusters = useClusters();
  const incidents = useIncidents("open");
  const waiting = useJobs({ status: "queued", limit: 5 });
  const failed = useJobs({ status: "failed", limit: 50 });
  if (!clusters.data || !incidents.data || !waiting.data || !failed.data) return null;
  const notices = attention(clusters.data.items, incidents.data.items, waiting.data.items, ofLastDay(failed.data.items, now()));
  if (notices.length === 0) return <p className="calm"><Icon name="check" />Nothing needs anybody: no incident is open, no cluster is silent, no job waits, none failed in the last day.</p>;
  return (
    <Card title={<>Needs attention <small>{plural(notices.length, "thing")}</small></>}>
      <ul className="notices">{notices.slice(0, SHOWN).map((notice) => <Row key={notice.key} notice={notice} />)}</ul>
      {notices.length > SHOWN && <p className="pad muted">{notices.length - SHOWN} more in <Link to="/incidents">incidents</Link>, <Link to="/clusters">clusters</Link>, <Link to="/jobs?status=failed">failed</Link> and <Link to="/jobs?status=queued">waiting jobs</Link>.</p>}
    </Card>
  );
}

function Row({ notice }: { notice: Notice }) {
  return (
    <li className={`tone-${notice.tone}`}>
      <span className="notice-icon"><Icon name={notice.icon} size={14} /></span>
      <div>
        <Link className="name" to={notice.to}>{notice.title}</Link>
        <p className="sentence">{notice.sentence}</p>
      </div>
      {notice.since && <span className="notice-since muted"><Ago at={notice.since} /></span>}
    </li>
  );
}
