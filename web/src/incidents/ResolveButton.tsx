import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "../api/client";
import { asProblem } from "../api/problem";
import type { Incident } from "../api/types";
import { announce } from "../ui/announce";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { ProblemBox } from "../ui/Feedback";

/** Takes a person's word that an incident is over, with the reason. */
export function ResolveButton({ incident }: { incident: Incident }) {
  const [asking, setAsking] = useState(false);
  const [reason, setReason] = useState("");
  const client = useQueryClient();
  const resolve = useMutation({
    mutationFn: () => post<Incident>(`/incidents/${incident.id}/resolve`, { reason }),
    onSuccess: () => {
      announce("The incident is resolved");
      void client.invalidateQueries({ queryKey: ["incident"] });
      void client.invalidateQueries({ queryKey: ["incidents"] });
      setAsking(false);
    },
  });
  return (
    <>
      <Button onClick={() => setAsking(true)}>Resolve…</Button>
      {asking && (
        <Dialog title="Is this incident over?" onClose={() => setAsking(false)} actions={
          <>
            <Button onClick={() => setAsking(false)}>Keep it open</Button>
            <Button look="primary" disabled={resolve.isPending || !reason.trim()} onClick={() => resolve.mutate()}>{resolve.isPending ? "Resolving…" : "Resolve the incident"}</Button>
          </>
        }>
          <p>It leaves the list of open incidents. What is seen of the same cause afterwards is a new incident.</p>
          {resolve.isError && <ProblemBox compact problem={asProblem(resolve.error)} />}
          <label className="field">
            <span>Reason <small>(shown with the incident, kept in the audit log)</small></span>
            <input type="text" maxLength={500} autoFocus value={reason} onChange={(event) => setReason(event.target.value)} />
          </label>
        </Dialog>
      )}
    </>
  );
}
