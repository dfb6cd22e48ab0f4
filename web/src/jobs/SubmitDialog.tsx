import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { useNavigate } from "react-router";
import { post } from "../api/client";
import { asProblem } from "../api/problem";
import { useQueues } from "../api/queries";
import type { SubmitReply } from "../api/types";
import { announce } from "../ui/announce";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { ProblemBox } from "../ui/Feedback";
import { YamlField } from "../ui/YamlField";

/** Submits a RayJob manifest as it is. A manifest that is refused says what is wrong, field by field, and changes nothing. */
export function SubmitDialog({ onClose }: { onClose: () => void }) {
  const [manifest, setManifest] = useState("");
  const [queue, setQueue] = useState("default");
  // One key for the dialog: sent twice, the job is stored once.
  const [key] = useState(() => crypto.randomUUID());
  const queues = useQueues();
  const navigate = useNavigate();
  const client = useQueryClient();
  const submit = useMutation({
    mutationFn: () => post<SubmitReply>("/jobs", { manifest, queue: queue.trim() }, { "idempotency-key": key }),
    onSuccess: ({ job }) => {
      void client.invalidateQueries({ queryKey: ["jobs"] });
      onClose();
      if (!job) return;
      announce(`Submitted ${job.name}`);
      void navigate(`/jobs/${job.id}`);
    },
  });
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (manifest.trim() && queue.trim()) submit.mutate();
  };
  return (
    <Dialog wide title="Submit a job" onClose={onClose} actions={
      <>
        <Button onClick={onClose}>Close</Button>
        <Button look="primary" type="submit" form="submit-job" disabled={submit.isPending || !manifest.trim() || !queue.trim()}>{submit.isPending ? "Submitting…" : "Submit"}</Button>
      </>
    }>
      {submit.isError && <ProblemBox compact problem={asProblem(submit.error)} />}
      <form id="submit-job" className="stack" onSubmit={send}>
        <label className="field">
          <span>Queue</span>
          <input type="text" list="queues" spellCheck={false} autoCapitalize="none" value={queue} onChange={(event) => setQueue(event.target.value)} />
        </label>
        <datalist id="queues">{(queues.data?.items ?? []).map(({ name }) => <option key={name} value={name} />)}</datalist>
        <YamlField label="RayJob manifest" value={manifest} onChange={setManifest} placeholder={"apiVersion: ray.io/v1\nkind: RayJob\n…"} />
      </form>
    </Dialog>
  );
}
