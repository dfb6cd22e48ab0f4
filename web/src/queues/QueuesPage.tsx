import { useState } from "react";
import { Link, useSearchParams } from "react-router";
import { useMe, useQueues } from "../api/queries";
import type { Queue } from "../api/types";
import { resources } from "../format/amount";
import { ON_CLUSTERS } from "../jobs/filter";
import { Button, Copy } from "../ui/Button";
import { Empty, Loaded } from "../ui/Feedback";
import { PageHead, TableFrame } from "../ui/Layout";
import { Line } from "./Line";
import { QuotaBar } from "./QuotaBar";
import { QuotaDialog } from "./QuotaDialog";
import { gpuHours, shareOf } from "./quota";

const ADD = "squadron queue add research";

/** The tree of queues: what each has, uses, borrows and lends, and what is in it; and the line of one. */
export function QueuesPage() {
  const queues = useQueues();
  const me = useMe();
  const [params] = useSearchParams();
  const [edited, setEdited] = useState<Queue>();
  const line = params.get("line");
  // Who may not declare policy is not asked to.
  const edit = me.data?.role === "admin" ? setEdited : undefined;
  return (
    <>
      <PageHead title="Queues" note="Who jobs are run and billed for, and how much of the fleet each may use">
        <Copy text={ADD} label="command" look="plain">Add one by CLI</Copy>
      </PageHead>
      <Loaded query={queues} lines={4}>
        {(page) => page.items.length === 0 ? (
          <Empty icon="queues" title="No queues yet"><p>Add the first with <code>{ADD}</code>.</p></Empty>
        ) : (
          <TableFrame label="Queues">
            <table className="table table-narrow">
              <thead><tr><th scope="col">Queue</th><th scope="col" className="number">Waiting</th><th scope="col" className="number">On clusters</th><th scope="col" className="number">Weight</th><th scope="col" className="number">Share</th><th scope="col" className="number" title="GPU hours of a flavor of weight 1; older use counts less">Used lately</th><th scope="col">Quota</th><th scope="col"><span className="sr-only">Links</span></th></tr></thead>
              <tbody>{page.items.map((queue) => <Row key={queue.name} queue={queue} edit={edit} />)}</tbody>
            </table>
          </TableFrame>
        )}
      </Loaded>
      {line && <Line key={line} queue={line} />}
      {edited && <QuotaDialog queue={edited} onClose={() => setEdited(undefined)} />}
    </>
  );
}

function Row({ queue, edit }: { queue: Queue; edit: ((queue: Queue) => void) | undefined }) {
  const editable = edit && (queue.quotas ?? []).some(({ declared }) => declared);
  const address = `/jobs?queue=${encodeURIComponent(queue.name)}`;
  const depth = queue.depth ?? 0;
  return (
    <tr>
      <td className="cell-main"><span className="tree-indent" style={{ inlineSize: `${depth * 1.25}rem` }} /><Link className="name" to={address}>{queue.name}</Link></td>
      <td className="number" data-label="Waiting">{queue.queued > 0 ? <Link to={`?line=${encodeURIComponent(queue.name)}`}>{queue.queued}</Link> : 0}</td>
      <td className="number" data-label="On clusters">{queue.running > 0 ? <Link to={`${address}&status=${ON_CLUSTERS}`}>{queue.running}</Link> : 0}</td>
      <td className="number" data-label="Weight">{(queue.weight ?? 1_000) / 1_000}</td>
      <td className="number" data-label="Share">{shareOf(queue.share, queue.parent == null)}</td>
      <td className="number" data-label="Used lately">{gpuHours(queue.used_lately)}</td>
      <td className="cell-prose" data-label="Quota"><Quotas queue={queue} /></td>
      <td className="number">
        {editable && <Button look="quiet" icon="sliders" onClick={() => edit(queue)}>What if…</Button>}
        <Link to={`/usage?by=team,job`}>Usage</Link>
      </td>
    </tr>
  );
}

function Quotas({ queue }: { queue: Queue }) {
  const quotas = queue.quotas ?? [];
  if (quotas.length === 0) return <span className="muted">not limited, uses {resources(queue.used)}</span>;
  return <>{quotas.map((quota) => <QuotaBar key={`${quota.flavor} ${quota.resource}`} quota={quota} />)}</>;
}
