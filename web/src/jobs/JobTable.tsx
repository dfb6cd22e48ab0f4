import { useState } from "react";
import { Link, useNavigate } from "react-router";
import type { Job } from "../api/types";
import { plural, resources } from "../format/amount";
import { Button } from "../ui/Button";
import { useHeldRows } from "../ui/heldRows";
import { Icon } from "../ui/Icon";
import { TableFrame } from "../ui/Layout";
import { State } from "../ui/State";
import { Ago, Span } from "../ui/Time";

const idOf = (job: Job) => job.id;

/** Jobs as rows. Rows hold still while somebody points at them; newer ones wait behind a notice. */
export function JobTable({ jobs, scope }: { jobs: Job[]; scope: string }) {
  const [inside, setInside] = useState(false);
  const { rows, gone, waiting, release } = useHeldRows(jobs, idOf, scope, inside);
  return (
    <div className="held" onPointerEnter={(event) => setInside(event.pointerType === "mouse")} onPointerLeave={() => setInside(false)} onFocus={() => setInside(true)} onBlur={() => setInside(false)}>
      {waiting > 0 && (
        <Button className="waiting" look="primary" icon="up" onClick={release}>{plural(waiting, "newer job")}, show</Button>
      )}
      <TableFrame label="Jobs">
        <table className="table jobs-table">
          <thead>
            <tr>
              <th scope="col">State</th>
              <th scope="col">Job</th>
              <th scope="col">Queue, cluster</th>
              <th scope="col">Asks for</th>
              <th scope="col" className="number">Submitted, ran</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((job) => <Row key={job.id} job={job} gone={gone.has(job.id)} />)}
          </tbody>
        </table>
      </TableFrame>
    </div>
  );
}

function Row({ job, gone }: { job: Job; gone: boolean }) {
  const navigate = useNavigate();
  const address = `/jobs/${job.id}`;
  const open = (event: React.MouseEvent) => {
    const onLink = event.target instanceof Element && event.target.closest("a, button");
    if (!onLink && !window.getSelection()?.toString()) void navigate(address);
  };
  return (
    <tr className={`row-link${gone ? " row-gone" : ""}`} title={gone ? "No longer matches this list" : undefined} onClick={open}>
      <td className="cell-state"><State word={job.state} /></td>
      <td className="cell-main">
        <Link to={address} className="name">{job.name}</Link>
        {job.attempt > 1 && <span className="tag">attempt {job.attempt}</span>}
        {job.stale_since && <span className="tag tone-amber"><Icon name="mute" size={12} />last word <Ago at={job.stale_since} /></span>}
        <p className="sentence">{job.sentence}</p>
      </td>
      <td data-label="Queue" className="cell-wrap">{job.queue}{job.cluster && <p className="sentence" data-label="on">{job.cluster}</p>}</td>
      <td data-label="Asks for">{resources(job.requests)}</td>
      <td data-label="Submitted" className="number"><Ago at={job.submitted_at} />{job.started_at && <p className="sentence" data-label={job.ended_at ? "ran" : "runs for"}><Span from={job.started_at} to={job.ended_at} /></p>}</td>
    </tr>
  );
}
