import { Link } from "react-router";
import type { Cluster } from "../api/types";
import { bytes, cpu, plural, skew } from "../format/amount";
import { Banner } from "../ui/Feedback";
import { Icon } from "../ui/Icon";
import { State } from "../ui/State";
import { Ago, Clock } from "../ui/Time";
import { AcceptPanel } from "./AcceptPanel";
import { CapacityBar } from "./CapacityBar";
import { ClearAlarmButton } from "./ClearAlarmButton";
import { RevokeButton } from "./RevokeButton";

/** Skew beyond this many milliseconds is shown as a warning: times of facts become hard to compare. */
const SKEW_WARNING_MS = 2_000;

/** One cluster: what it says, how old that is, and what room it has. */
export function ClusterCard({ cluster }: { cluster: Cluster }) {
  const heard = cluster.state === "active" || cluster.state === "silent";
  return (
    <article className={`card cluster cluster-${cluster.state}`} aria-label={`Cluster ${cluster.name}`} data-cluster={cluster.name}>
      <header className="cluster-head">
        <h2>{cluster.name}</h2>
        <State word={cluster.state} />
        {heard && <span className="last-word"><span className="muted">last word</span> <Ago at={cluster.last_heard_at} /></span>}
      </header>
      {cluster.alarm && <Banner tone="red" icon="bolt"><strong>Alarm.</strong> {cluster.alarm} <ClearAlarmButton cluster={cluster} /></Banner>}
      {cluster.silent_since && (
        <Banner tone="amber" icon="mute">
          <strong>Silent since <Clock at={cluster.silent_since} /></strong> (<Ago at={cluster.silent_since} />). Jobs there go on; their facts arrive when it is heard again. Figures below are its last word.
        </Banner>
      )}
      {!cluster.silent_since && <p className="cluster-sentence">{cluster.sentence}</p>}
      {(cluster.state === "pending" || cluster.reoffer) && <AcceptPanel cluster={cluster} />}
      {heard && (
        <div className={cluster.silent_since ? "capacity capacity-stale" : "capacity"}>
          <CapacityBar label="CPU" total={cluster.allocatable.cpu_milli} free={cluster.free.cpu_milli} show={cpu} />
          <CapacityBar label="Memory" total={cluster.allocatable.memory_bytes} free={cluster.free.memory_bytes} show={bytes} />
          <CapacityBar label="GPU" total={cluster.allocatable.gpus} free={cluster.free.gpus} show={String} />
        </div>
      )}
      {cluster.state !== "revoked" && (
        <footer className="cluster-foot">
          {heard && <span>{plural(cluster.nodes, "node")}</span>}
          {cluster.kubernetes_version && <span>Kubernetes {cluster.kubernetes_version.replace(/^v/, "")}</span>}
          {cluster.agent_version && <span>agent {cluster.agent_version}</span>}
          <Skew ms={cluster.clock_skew_ms} />
          {cluster.spool_bytes > 0 && <span title="Facts and logs on the agent's disk that are not acknowledged yet">{bytes(cluster.spool_bytes)} waiting in its spool</span>}
          <span className="cluster-links">
            <RevokeButton cluster={cluster} />
            {heard && <Link to={`/jobs?cluster=${encodeURIComponent(cluster.name)}`}>Jobs here</Link>}
          </span>
        </footer>
      )}
    </article>
  );
}

function Skew({ ms }: { ms: number | null | undefined }) {
  if (ms === null || ms === undefined) return null;
  const off = Math.abs(ms) > SKEW_WARNING_MS;
  return (
    <span className={off ? "tag tone-amber" : undefined} title="The control plane's clock minus the agent's">
      {off && <Icon name="clock" size={12} />}clock {skew(ms)}
    </span>
  );
}
