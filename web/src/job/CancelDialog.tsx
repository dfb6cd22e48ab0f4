import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "../api/client";
import { asProblem } from "../api/problem";
import type { Job } from "../api/types";
import { resources } from "../format/amount";
import { announce } from "../ui/announce";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { ProblemBox } from "../ui/Feedback";

/** Asks once, says what will be lost, takes a reason. */
export function CancelDialog({ job, onClose }: { job: Job; onClose: () => void }) {
  const [reason, setReason] = useState("");
  const client = useQueryClient();
  const cancel = useMutation({
    mutationFn: () => post<Job>(`/jobs/${job.id}/cancel`, { reason }),
    onSuccess: () => {
      announce(`Cancelling ${job.name}`);
      void client.invalidateQueries({ queryKey: ["job"] });
      void client.invalidateQueries({ queryKey: ["jobs"] });
      onClose();
    },
  });
  const effect = job.cluster
    ? `Its pods on ${job.cluster} are stopped and ${resources(job.requests)} become free. Work that the job did not save is lost; its log, timeline and cost stay.`
    : "It leaves its queue and will not start. Nothing runs yet, so nothing is lost.";
  return (
    <Dialog title={`Cancel ${job.name}?`} onClose={onClose} actions={
      <>
        <Button onClick={onClose}>Keep it running</Button>
        <Button look="danger" disabled={cancel.isPending} onClick={() => cancel.mutate()}>{cancel.isPending ? "Cancelling…" : "Cancel the job"}</Button>
      </>
    }>
      <p>{effect}</p>
      {cancel.isError && <ProblemBox compact problem={asProblem(cancel.error)} />}
      <label className="field">
        <span>Reason <small>(optional, kept in the audit log)</small></span>
        <input type="text" maxLength={500} autoFocus value={reason} onChange={(event) => setReason(event.target.value)} />
      </label>
    </Dialog>
  );
}
