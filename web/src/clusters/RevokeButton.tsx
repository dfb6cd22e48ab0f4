import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "../api/client";
import { asProblem } from "../api/problem";
import type { Cluster } from "../api/types";
import { announce } from "../ui/announce";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { ProblemBox } from "../ui/Feedback";

/** Shuts a cluster out, after one question. */
export function RevokeButton({ cluster }: { cluster: Cluster }) {
  const [asking, setAsking] = useState(false);
  const client = useQueryClient();
  const revoke = useMutation({
    mutationFn: () => post<Cluster>(`/clusters/${encodeURIComponent(cluster.name)}/revoke`),
    onSuccess: () => {
      announce(`${cluster.name} is revoked`);
      void client.invalidateQueries({ queryKey: ["clusters"] });
      setAsking(false);
    },
  });
  return (
    <>
      <button type="button" className="link" onClick={() => setAsking(true)}>Revoke…</button>
      {asking && (
        <Dialog title={`Revoke ${cluster.name}?`} onClose={() => setAsking(false)} actions={
          <>
            <Button onClick={() => setAsking(false)}>Keep it</Button>
            <Button look="danger" disabled={revoke.isPending} onClick={() => revoke.mutate()}>{revoke.isPending ? "Revoking…" : "Revoke the cluster"}</Button>
          </>
        }>
          <p>Its agents are refused from then on, and no job is sent there. Pods that run there are not stopped, but nothing more is heard of them. A revoked cluster has to be added anew.</p>
          {revoke.isError && <ProblemBox compact problem={asProblem(revoke.error)} />}
        </Dialog>
      )}
    </>
  );
}
