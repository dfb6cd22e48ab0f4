import type { Job, Pod } from "../api/types";
import { Empty } from "../ui/Feedback";
import { TableFrame } from "../ui/Layout";
import { State } from "../ui/State";
import { isTerminal } from "../ui/state";

/** The pods of the job, live or gone, as the cluster last reported them. */
export function Pods({ pods, job }: { pods: Pod[]; job: Job }) {
  if (pods.length === 0) {
    return <Empty icon="clusters" title="No pods"><p>{isTerminal(job.state) ? "The job ended before any pod was made." : "Pods appear when the cluster has made them."}</p></Empty>;
  }
  return (
    <TableFrame label="Pods">
      <table className="table">
        <thead>
          <tr><th scope="col">Phase</th><th scope="col">Pod</th><th scope="col">Role</th><th scope="col">Node</th><th scope="col">Reason</th><th scope="col" className="number">Exit code</th></tr>
        </thead>
        <tbody>
          {pods.map((pod) => (
            <tr key={pod.name} className={pod.gone ? "row-gone" : undefined}>
              <td><State word={pod.phase} as={`${pod.phase.toLowerCase()}_pod`} />{pod.gone && <span className="tag">gone</span>}</td>
              <td className="cell-main"><code>{pod.name}</code></td>
              <td data-label="Role">{pod.role}</td>
              <td className="cell-wrap" data-label="Node">{pod.node || <span className="muted">not bound</span>}</td>
              <td data-label="Reason">{pod.reason ? <code>{pod.reason}</code> : <span className="muted">–</span>}</td>
              <td className="number" data-label="Exit code">{pod.exit_code ?? <span className="muted">–</span>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableFrame>
  );
}
