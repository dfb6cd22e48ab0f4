import { useMutation } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { post } from "../api/client";
import { asProblem } from "../api/problem";
import type { Queue, WhatIf } from "../api/types";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { ProblemBox } from "../ui/Feedback";
import { quantityOf } from "./quota";
import { Prospect } from "./Prospect";

/** Other nominal quotas for a queue: tells what the dispatcher would do with them, and how to apply them. It changes nothing itself. */
export function QuotaDialog({ queue, onClose }: { queue: Queue; onClose: () => void }) {
  const lines = (queue.quotas ?? []).filter(({ declared }) => declared);
  const [amounts, setAmounts] = useState(() => lines.map(({ resource, nominal }) => quantityOf(resource, nominal)));
  const ask = useMutation({
    mutationFn: () => post<WhatIf>("/queues/what-if", {
      edits: lines.map(({ flavor, resource }, at) => ({ queue: queue.name, flavor, resource, nominal: amounts[at]?.trim() ?? "" })),
    }),
  });
  const send = (event: FormEvent) => {
    event.preventDefault();
    ask.mutate();
  };
  const change = (at: number, text: string) => {
    setAmounts((all) => all.map((old, index) => (index === at ? text : old)));
    // What was told was about other numbers.
    ask.reset();
  };
  return (
    <Dialog wide title={`What if ${queue.name} had another quota?`} onClose={onClose} actions={
      <>
        <Button onClick={onClose}>Close</Button>
        <Button look="primary" type="submit" form="edit-quota" disabled={ask.isPending}>{ask.isPending ? "Deciding…" : "Tell what would happen"}</Button>
      </>
    }>
      <form id="edit-quota" className="quota-fields" onSubmit={send}>
        {lines.map(({ flavor, resource }, at) => (
          <label className="field" key={`${flavor} ${resource}`}>
            <span>{flavor} {resource}</span>
            <input type="text" inputMode="text" spellCheck={false} autoCapitalize="none" value={amounts[at]} onChange={(event) => change(at, event.target.value)} />
          </label>
        ))}
      </form>
      <p className="help">Nominal quota, as a Kubernetes quantity: <code>16</code>, <code>500m</code>, <code>64Gi</code>. Nothing is changed here.</p>
      {ask.isError && <ProblemBox compact problem={asProblem(ask.error)} />}
      {ask.data && <Prospect told={ask.data} />}
    </Dialog>
  );
}
