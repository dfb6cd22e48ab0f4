import type { Attempt } from "../api/types";
import { Empty } from "../ui/Feedback";
import { TableFrame } from "../ui/Layout";
import { State } from "../ui/State";
import { Span, When } from "../ui/Time";

/** Every placement of the job; at most one lives. */
export function Attempts({ attempts }: { attempts: Attempt[] }) {
  if (attempts.length === 0) return <Empty icon="arrow" title="Not placed yet"><p>An attempt appears when the dispatcher gives the job to a cluster.</p></Empty>;
  return (
    <TableFrame label="Attempts">
      <table className="table">
        <thead>
          <tr><th scope="col" className="number">No.</th><th scope="col">State</th><th scope="col">Cluster, RayJob</th><th scope="col">Why here, why ended</th><th scope="col">Assigned</th><th scope="col" className="number">Ran</th></tr>
        </thead>
        <tbody>
          {[...attempts].reverse().map((attempt) => (
            <tr key={attempt.number}>
              <td className="number" data-label="Attempt">{attempt.number}</td>
              <td><State word={attempt.state} /></td>
              <td className="cell-object" data-label="Cluster">{attempt.cluster}<p className="sentence" data-label="RayJob"><code>{attempt.object}</code></p></td>
              <td className="cell-prose">{attempt.chosen_because}{attempt.capped_because && <p className="sentence">{attempt.capped_because}</p>}{attempt.ended_because && <p className="sentence">{attempt.ended_because}</p>}</td>
              <td data-label="Assigned"><When at={attempt.assigned_at} /></td>
              <td className="number" data-label="Ran"><Span from={attempt.running_at} to={attempt.ended_at} /></td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableFrame>
  );
}
