import { Link } from "react-router";
import type { Why } from "../api/types";
import { plural, resources } from "../format/amount";
import { Copy } from "../ui/Button";
import { Ago } from "../ui/Time";

/** The reasons as the dispatcher wrote them, most actionable first. */
export function Blockers({ why }: { why: Why }) {
  return (
    <>
      {why.blockers.length === 0 && <p className="pad">Nothing holds it up; the dispatcher places it on its next pass.</p>}
      <ol className="blockers">
        {why.blockers.map((blocker, index) => (
          <li key={`${blocker.code} ${blocker.cluster} ${index}`}>
            <span className="blocker-rank" aria-hidden="true">{index + 1}</span>
            <div>
              <p>{blocker.sentence}</p>
              <p className="blocker-meta">
                <code>{blocker.code}</code>
                {blocker.cluster && <Link to="/clusters">{blocker.cluster}</Link>}
              </p>
              {blocker.try_this && <p className="try"><b>Try</b> {blocker.try_this} <Copy text={blocker.try_this} label="suggestion" /></p>}
            </div>
          </li>
        ))}
      </ol>
      {why.ahead.count > 0 && (
        <div className="pad ahead">
          <b>Ahead</b> {plural(why.ahead.count, "job")}{why.ahead.count > why.ahead.jobs.length && `, the first ${why.ahead.jobs.length}`}:
          <ul>
            {why.ahead.jobs.map((job) => (
              <li key={job.id}><Link to={`/jobs/${job.id}`}>{job.name}</Link> <span className="muted">asks for {resources(job.requests)}, waits <Ago at={job.submitted_at} suffix="" /></span></li>
            ))}
          </ul>
        </div>
      )}
      {why.estimate && <p className="pad"><b>Wait</b> {why.estimate.sentence}</p>}
      <p className="pad muted">Decided <Ago at={why.decided_at} />.</p>
    </>
  );
}
