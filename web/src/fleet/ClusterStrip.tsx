import { Link } from "react-router";
import type { Cluster } from "../api/types";
import { percent } from "../format/amount";
import { State } from "../ui/State";
import { Ago } from "../ui/Time";

/** Clusters in short: state, age of the last word, how much of each resource is taken. */
export function ClusterStrip({ clusters }: { clusters: Cluster[] }) {
  const shown = clusters.filter((cluster) => cluster.state !== "revoked");
  if (shown.length === 0) return <p className="pad muted">None yet. <Link to="/clusters">Add the first</Link></p>;
  return (
    <ul className="plain-list strip">
      {shown.map((cluster) => (
        <li key={cluster.id}>
          <div className="strip-head">
            <Link className="name" to={`/jobs?cluster=${encodeURIComponent(cluster.name)}`}>{cluster.name}</Link>
            <State word={cluster.state} />
            {cluster.last_heard_at && <span className="muted strip-age"><Ago at={cluster.last_heard_at} /></span>}
          </div>
          {(cluster.state === "active" || cluster.state === "silent") && (
            <dl className={`strip-bars${cluster.silent_since ? " capacity-stale" : ""}`}>
              <Used label="CPU" total={cluster.allocatable.cpu_milli} free={cluster.free.cpu_milli} />
              <Used label="Memory" total={cluster.allocatable.memory_bytes} free={cluster.free.memory_bytes} />
              <Used label="GPU" total={cluster.allocatable.gpus} free={cluster.free.gpus} />
            </dl>
          )}
        </li>
      ))}
    </ul>
  );
}

function Used({ label, total, free }: { label: string; total: number; free: number }) {
  const share = percent(total - free, total);
  return (
    <div>
      <dt>{label}</dt>
      <dd>
        {total > 0 ? `${share} % used` : "none"}
        <span className="bar" aria-hidden="true"><span className="bar-fill" style={{ inlineSize: `${share}%` }} /></span>
      </dd>
    </div>
  );
}
