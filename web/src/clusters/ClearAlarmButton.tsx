import { useMutation, useQueryClient } from "@tanstack/react-query";
import { post } from "../api/client";
import { asProblem } from "../api/problem";
import type { Cluster } from "../api/types";
import { announce } from "../ui/announce";
import { ProblemBox } from "../ui/Feedback";

/** Clears a cluster's alarm. It accepts nothing: an identity that was offered anew is turned away. */
export function ClearAlarmButton({ cluster }: { cluster: Cluster }) {
  const client = useQueryClient();
  const clear = useMutation({
    mutationFn: () => post<Cluster>(`/clusters/${encodeURIComponent(cluster.name)}/clear-alarm`),
    onSuccess: () => {
      announce(`The alarm of ${cluster.name} is cleared`);
      void client.invalidateQueries({ queryKey: ["clusters"] });
    },
  });
  return (
    <>
      <button type="button" className="link" disabled={clear.isPending} onClick={() => clear.mutate()}>{cluster.reoffer ? "Turn it away" : "Clear the alarm"}</button>
      {clear.isError && <ProblemBox compact problem={asProblem(clear.error)} />}
    </>
  );
}
