import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { post } from "../api/client";
import { asProblem } from "../api/problem";
import type { AddClusterReply } from "../api/types";
import { Button, Copy } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { ProblemBox } from "../ui/Feedback";
import { Facts, Verbatim } from "../ui/Layout";
import { When } from "../ui/Time";

/** Invites a cluster: a name first, then the command that holds its one-time code. */
export function AddClusterDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const client = useQueryClient();
  const add = useMutation({
    mutationFn: () => post<AddClusterReply>("/clusters", { name: name.trim() }),
    onSuccess: () => void client.invalidateQueries({ queryKey: ["clusters"] }),
  });
  if (add.data) return <Invitation reply={add.data} onClose={onClose} />;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim()) add.mutate();
  };
  return (
    <Dialog title="Add a cluster" onClose={onClose} actions={
      <>
        <Button onClick={onClose}>Close</Button>
        <Button look="primary" type="submit" form="add-cluster" disabled={add.isPending || !name.trim()}>{add.isPending ? "Adding…" : "Add"}</Button>
      </>
    }>
      <form id="add-cluster" onSubmit={submit}>
        <label className="field">
          <span>Name</span>
          <input type="text" autoFocus spellCheck={false} autoCapitalize="none" maxLength={40} placeholder="east" value={name} onChange={(event) => setName(event.target.value)} aria-describedby="name-help" />
        </label>
        <p id="name-help" className="help">Lower-case letters, digits and “-”, at most 40. Jobs, incidents and bills will show this name.</p>
      </form>
      {add.isError && <ProblemBox compact problem={asProblem(add.error)} />}
    </Dialog>
  );
}

function Invitation({ reply, onClose }: { reply: AddClusterReply; onClose: () => void }) {
  return (
    <Dialog wide title={`Install the agent in ${reply.cluster.name}`} onClose={onClose} actions={<Button look="primary" onClick={onClose}>Done</Button>}>
      <ol className="steps">
        <li>
          <p>Run this against the cluster. The code in it is shown only here and works once, until <When at={reply.code_expires_at} />.</p>
          <Verbatim text={reply.helm_command} />
          <Copy text={reply.helm_command} label="Helm command" look="plain">Copy the command</Copy>
        </li>
        <li><p>The cluster then appears here as pending, with its identity. Compare and accept it.</p></li>
      </ol>
      <details>
        <summary>What the command contains</summary>
        <Facts items={[
          ["Agents dial", <code key="a">{reply.agent_address}</code>],
          ["Audience of their token", <code key="u">{reply.audience}</code>],
          ["CA", <Copy key="c" text={reply.ca_bundle} label="CA bundle">Copy the CA bundle</Copy>],
        ]} />
      </details>
    </Dialog>
  );
}
