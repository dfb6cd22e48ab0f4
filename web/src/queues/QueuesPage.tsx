import { Link, useSearchParams } from "react-router";
import { useQueues } from "../api/queries";
import { ON_CLUSTERS } from "../jobs/filter";
import { Copy } from "../ui/Button";
import { Empty, Loaded } from "../ui/Feedback";
import { PageHead, TableFrame } from "../ui/Layout";
import { Line } from "./Line";

const ADD = "squadron queue add research";

/** Queues, what is in them, and the line of one. */
export function QueuesPage() {
  const queues = useQueues();
  const [params] = useSearchParams();
  const line = params.get("line");
  return (
    <>
      <PageHead title="Queues" note="Who jobs are run and billed for">
        <Copy text={ADD} label="command" look="plain">Add one by CLI</Copy>
      </PageHead>
      <Loaded query={queues} lines={4}>
        {(page) => page.items.length === 0 ? (
          <Empty icon="queues" title="No queues yet"><p>Add the first with <code>{ADD}</code>.</p></Empty>
        ) : (
          <TableFrame label="Queues">
            <table className="table table-narrow">
              <thead><tr><th scope="col">Queue</th><th scope="col" className="number">Waiting</th><th scope="col" className="number">On clusters</th><th scope="col"><span className="sr-only">Links</span></th></tr></thead>
              <tbody>
                {page.items.map((queue) => {
                  const address = `/jobs?queue=${encodeURIComponent(queue.name)}`;
                  return (
                    <tr key={queue.name}>
                      <td className="cell-main"><Link className="name" to={address}>{queue.name}</Link></td>
                      <td className="number" data-label="Waiting">{queue.queued > 0 ? <Link to={`?line=${encodeURIComponent(queue.name)}`}>{queue.queued}</Link> : 0}</td>
                      <td className="number" data-label="On clusters">{queue.running > 0 ? <Link to={`${address}&status=${ON_CLUSTERS}`}>{queue.running}</Link> : 0}</td>
                      <td className="number"><Link to={`/usage?by=team,job`}>Usage</Link></td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </TableFrame>
        )}
      </Loaded>
      {line && <Line key={line} queue={line} />}
    </>
  );
}
