import { useState } from "react";
import { useClusters } from "../api/queries";
import type { Cluster } from "../api/types";
import { plural } from "../format/amount";
import { Button } from "../ui/Button";
import { Empty, Loaded } from "../ui/Feedback";
import { PageHead } from "../ui/Layout";
import { AddClusterDialog } from "./AddClusterDialog";
import { ClusterCard } from "./ClusterCard";

/** Every cluster with the age of its last word, what it offers and what is free; what needs a person comes first. */
export function ClustersPage() {
  const clusters = useClusters();
  const [adding, setAdding] = useState(false);
  const [all, setAll] = useState(false);
  const add = () => setAdding(true);
  return (
    <>
      <PageHead title="Clusters" note={clusters.data ? headline(clusters.data.items) : "Where jobs run"}>
        <Button look="primary" icon="plus" onClick={add}>Add cluster</Button>
      </PageHead>
      <Loaded query={clusters} lines={6}>
        {(page) => {
          const revoked = page.items.filter(isRevoked).length;
          const shown = all ? page.items : page.items.filter((cluster) => !isRevoked(cluster));
          return (
            <>
              {shown.length === 0 ? <NoClusters add={add} /> : (
                <ul className="clusters">
                  {ordered(shown).map((cluster) => <li key={cluster.id}><ClusterCard cluster={cluster} /></li>)}
                </ul>
              )}
              {revoked > 0 && <p className="pager"><Button aria-pressed={all} onClick={() => setAll(!all)}>{all ? "Hide" : "Show"} {plural(revoked, "revoked cluster")}</Button></p>}
            </>
          );
        }}
      </Loaded>
      {adding && <AddClusterDialog onClose={() => setAdding(false)} />}
    </>
  );
}

function isRevoked({ state }: Cluster): boolean {
  return state === "revoked";
}

/** Clusters that wait for a person first, then by name; silence moves nothing, so that rows keep their places. */
function ordered(clusters: Cluster[]): Cluster[] {
  const rank = ({ state }: Cluster) => (state === "pending" ? 0 : state === "revoked" ? 2 : 1);
  return [...clusters].sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name, "en"));
}

function headline(clusters: Cluster[]): string {
  const count = (state: string) => clusters.filter((cluster) => cluster.state === state).length;
  const parts = [`${plural(count("active"), "cluster")} heard`];
  if (count("silent") > 0) parts.push(`${count("silent")} silent`);
  if (count("pending") > 0) parts.push(`${count("pending")} waiting to be accepted`);
  if (count("invited") > 0) parts.push(`${count("invited")} invited`);
  return parts.join(", ");
}

function NoClusters({ add }: { add: () => void }) {
  return (
    <Empty icon="clusters" title="No clusters yet">
      <p>Add a cluster, run the Helm command it gives you in that cluster, then accept its identity here. Nothing ever dials in to it.</p>
      <Button look="primary" icon="plus" onClick={add}>Add cluster</Button>
    </Empty>
  );
}
