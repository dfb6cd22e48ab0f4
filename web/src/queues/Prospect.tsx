import { useState } from "react";
import { Link } from "react-router";
import type { QueueQuota, WhatIf } from "../api/types";
import { plural } from "../format/amount";
import { Button, Copy } from "../ui/Button";
import { TableFrame, Verbatim } from "../ui/Layout";
import { amountOf, applyCommand, linesOf, moved, shareOf } from "./quota";

/** What a changed policy would do, by the dispatcher's own decision, and how to apply it. */
export function Prospect({ told }: { told: WhatIf }) {
  return (
    <section className="prospect" aria-label="What would happen">
      <p className="prospect-sentence" role="status">{capital(told.sentence)}.</p>
      <Jobs title="Would start now" left={told.starts_total - told.starts.length}>
        {told.starts.map((job) => <li key={job.id}><Link to={`/jobs/${job.id}?tab=placement`}>{job.name}</Link> of {job.queue} on {job.cluster}: <span className="muted">{job.sentence}</span></li>)}
      </Jobs>
      <Jobs title="Would wait for something else" left={told.waits_total - told.waits.length}>
        {told.waits.map((job) => <li key={job.id}><Link to={`/jobs/${job.id}?tab=why`}>{job.name}</Link> of {job.queue}: {job.code_before ? <code>{job.code_before}</code> : "starts now"} → <code>{job.code}</code> <span className="muted">{job.sentence}</span></li>)}
      </Jobs>
      <Jobs title="Would be asked to stop" left={told.stops_total - told.stops.length}>
        {told.stops.map((job) => <li key={job.id}><Link to={`/jobs/${job.id}`}>{job.id}</Link> of {job.queue} on {job.cluster}, for {job.makes_room_for}: <span className="muted">{job.sentence}</span></li>)}
      </Jobs>
      <Jobs title="Would be on loan, which others may claim" left={told.claims_total - told.claims.length} noun="loan">
        {told.claims.map((claim) => (
          <li key={`${claim.queue} ${claim.flavor} ${claim.resource}`}>
            {claim.queue}, {claim.flavor} {claim.resource}: {amountOf(claim.resource, claim.borrowed_before)} → {amountOf(claim.resource, claim.borrowed)} borrowed
            {claim.beyond > 0 && <>; {amountOf(claim.resource, claim.beyond)} above its limit, so nothing more starts there until it has ended</>}
          </li>
        ))}
      </Jobs>
      {told.queues.length > 0 && <Queues told={told} />}
      {told.queues_total > told.queues.length && <p className="muted">and {plural(told.queues_total - told.queues.length, "more queue")}</p>}
      {told.yaml && <Apply yaml={told.yaml} />}
    </section>
  );
}

function Jobs({ title, left, noun = "job", children }: { title: string; left: number; noun?: string; children: React.ReactNode[] }) {
  if (children.length === 0) return null;
  return (
    <>
      <h3 className="section-title">{title}</h3>
      <ul className="prospect-list">{children}{left > 0 && <li>and {plural(left, `more ${noun}`)}</li>}</ul>
    </>
  );
}

function Queues({ told }: { told: WhatIf }) {
  return (
    <TableFrame label="Queues before and after">
      <table className="table table-narrow">
        <thead><tr><th scope="col">Queue</th><th scope="col">Of</th><th scope="col" className="number">Nominal</th><th scope="col" className="number">Used</th><th scope="col" className="number">Borrowed</th><th scope="col" className="number">Share</th></tr></thead>
        <tbody>
          {told.queues.flatMap(({ name, before, after }) => linesOf(before, after).map(({ key, resource, old, now }) => {
            const show = (of: (line: QueueQuota) => number | null | undefined) => moved(...([old, now] as const).map((line) => (line ? amountOf(resource, of(line)) : "–")) as [string, string]);
            const share = (side: typeof before) => (side ? shareOf(side.share, side.share == null) : "–");
            return (
              <tr key={`${name} ${key}`}>
                <td className="cell-main">{name}</td>
                <td data-label="Of">{key}</td>
                <td className="number" data-label="Nominal">{show((line) => line.nominal)}</td>
                <td className="number" data-label="Used">{show((line) => line.used)}</td>
                <td className="number" data-label="Borrowed">{show((line) => line.borrowed)}</td>
                <td className="number" data-label="Share">{moved(share(before), share(after))}</td>
              </tr>
            );
          }))}
        </tbody>
      </table>
    </TableFrame>
  );
}

function Apply({ yaml }: { yaml: string }) {
  const [shown, setShown] = useState(false);
  if (!shown) return <p><Button icon="terminal" onClick={() => setShown(true)}>Show how to apply it</Button></p>;
  const command = applyCommand(yaml);
  return (
    <>
      <Verbatim text={command} />
      <p><Copy text={command} label="command" look="plain">Copy the command</Copy></p>
    </>
  );
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
