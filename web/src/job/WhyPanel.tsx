import type { JobDetail } from "../api/types";
import { Empty } from "../ui/Feedback";
import { Card } from "../ui/Layout";
import { When } from "../ui/Time";
import { Blockers } from "./Blockers";

/** Why the job waits, or why it is where it is. */
export function WhyPanel({ detail }: { detail: JobDetail }) {
  const { why, attempts, job } = detail;
  const placed = attempts.filter((attempt) => attempt.chosen_because);
  if (job.state !== "queued" && placed.length === 0) {
    return <Empty icon="info" title="No decision to explain"><p>{job.sentence}</p></Empty>;
  }
  return (
    <div className="stack">
      {job.state === "queued" && (why
        ? <Card title={why.sentence || "Why it waits"}><Blockers why={why} /></Card>
        : <Empty icon="clock" title="The dispatcher has not looked at this job yet"><p>It does so within seconds of the submission.</p></Empty>)}
      {placed.length > 0 && (
        <Card title="Placements">
          <ul className="plain-list">
            {placed.map((attempt) => (
              <li key={attempt.number}><b>Attempt {attempt.number} on {attempt.cluster}</b>, <When at={attempt.assigned_at} />: {attempt.chosen_because}</li>
            ))}
          </ul>
        </Card>
      )}
    </div>
  );
}
