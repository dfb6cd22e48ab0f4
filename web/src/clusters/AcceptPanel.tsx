import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "../api/client";
import { asProblem } from "../api/problem";
import type { Cluster } from "../api/types";
import { announce } from "../ui/announce";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { ProblemBox } from "../ui/Feedback";
import { Facts } from "../ui/Layout";

/** Who asks to be this cluster or its new agent, and the second of the two confirmations that let it in. */
export function AcceptPanel({ cluster }: { cluster: Cluster }) {
  const [asking, setAsking] = useState(false);
  const client = useQueryClient();
  const accept = useMutation({
    mutationFn: (identity: string) => post<Cluster>(`/clusters/${encodeURIComponent(cluster.name)}/accept`, { identity }),
    onSuccess: () => {
      announce(`${cluster.name} is accepted`);
      void client.invalidateQueries({ queryKey: ["clusters"] });
      setAsking(false);
    },
  });
  const identity = cluster.reoffer ?? cluster.identity;
  if (!identity) return null;
  const facts = (
    <Facts items={[
      ["Issuer", <code key="i">{identity.issuer}</code>],
      ["Subject", <code key="s">{identity.subject}</code>],
      ["Account uid", <code key="a">{identity.service_account_uid}</code>],
      ["kube-system uid", <code key="u">{identity.kube_system_uid}</code>],
      ["Signing keys", <code key="k">{identity.key_ids.join(", ")}</code>],
    ]} />
  );
  return (
    <div className="accept">
      {cluster.reoffer && <p>Somebody in the cluster asks to be its agent from now on:</p>}
      {facts}
      <Button look="primary" icon="check" onClick={() => setAsking(true)}>Accept…</Button>
      {asking && (
        <Dialog wide title={`Accept ${cluster.name}?`} onClose={() => setAsking(false)} actions={
          <>
            <Button onClick={() => setAsking(false)}>Not now</Button>
            <Button look="primary" disabled={accept.isPending} onClick={() => accept.mutate(identity.digest)}>{accept.isPending ? "Accepting…" : "It is mine, accept"}</Button>
          </>
        }>
          <p>From then on agents with these keys act for <b>{cluster.name}</b>: jobs are sent there and its reports are believed. Compare the uid with what the cluster itself says:</p>
          <pre className="verbatim">kubectl get namespace kube-system -o jsonpath={"{.metadata.uid}"}</pre>
          {facts}
          {accept.isError && <ProblemBox compact problem={asProblem(accept.error)} />}
        </Dialog>
      )}
    </div>
  );
}
