import { Link } from "react-router";
import type { JobDetail } from "../api/types";
import { useUsage } from "../api/queries";
import { hours, money } from "../format/amount";
import { Empty, Loaded } from "../ui/Feedback";
import { Card, Facts } from "../ui/Layout";

/** What the job held and what it cost so far, from the same rows as the usage page. */
export function Cost({ detail }: { detail: JobDetail }) {
  const { job } = detail;
  const usage = useUsage({ from: job.submitted_at, by: "job,cluster" }, Boolean(detail.cost));
  if (!detail.cost) {
    return (
      <Empty icon="usage" title="No cost yet">
        <p>The job has held nothing yet, or no price sheet is in force. <code>squadron prices apply -f prices.yaml</code> puts one in force; past usage is priced as well.</p>
      </Empty>
    );
  }
  return (
    <Card title="Cost so far" actions={<Link to="/usage?by=team,job">Usage of everybody</Link>}>
      <p className="big-number">{detail.cost}</p>
      <Loaded query={usage} lines={2}>
        {(data) => (
          <>
            {data.rows.filter((row) => row.job_id === job.id).map((row) => (
              <Facts key={row.cluster} items={[
                ["Cluster", row.cluster],
                ["CPU hours", <span key="c" title={row.cpu_hours}>{hours(row.cpu_hours)}</span>],
                ["Memory GiB hours", <span key="m" title={row.memory_gib_hours}>{hours(row.memory_gib_hours)}</span>],
                ["GPU hours", <span key="g" title={row.gpu_hours}>{hours(row.gpu_hours)}</span>],
                [`Amount in ${data.currency}`, <span key="a" title={`${row.amount_exact} before rounding`}>{money(row.amount, row.amount_exact)}</span>],
              ]} />
            ))}
            {data.notes.length > 0 && <ul className="notes">{data.notes.map((note) => <li key={note}>{note}</li>)}</ul>}
          </>
        )}
      </Loaded>
    </Card>
  );
}
