import { Link, useSearchParams } from "react-router";
import { useWaiting } from "../api/queries";
import { resources } from "../format/amount";
import { Empty, Loaded } from "../ui/Feedback";
import { TableFrame } from "../ui/Layout";
import { Ago } from "../ui/Time";

/** The jobs that wait in one queue, in the order in which the dispatcher looks at them. */
export function Line({ queue }: { queue: string }) {
  const [params] = useSearchParams();
  const query = useWaiting(queue, params.get("page") ?? "");
  const at = (page: string) => `?${new URLSearchParams({ line: queue, ...(page && { page }) }).toString()}`;
  return (
    <section className="line">
      <h2 className="section-title">Waiting in {queue} <Link to="/queues">close</Link></h2>
      <Loaded query={query} lines={4}>
        {(page) => page.items.length === 0
          ? <Empty icon="check" title="No job waits here" />
          : (
            <>
              <TableFrame label={`Jobs that wait in ${queue}`}>
                <table className="table">
                  <thead><tr><th scope="col" className="number">Place</th><th scope="col">Job</th><th scope="col">Asks for</th><th scope="col">Waits</th><th scope="col">Since the causes changed</th></tr></thead>
                  <tbody>
                    {page.items.map((job) => (
                      <tr key={job.id}>
                        <td className="number" data-label="Place">{job.position ?? "–"}</td>
                        <td className="cell-main">
                          <Link className="name" to={`/jobs/${job.id}?tab=why`}>{job.name}</Link>
                          <p className="sentence">{job.sentence || "the dispatcher looks at it in a moment"} {job.code && <code>{job.code}</code>}</p>
                        </td>
                        <td data-label="Asks for">{resources(job.requests)}</td>
                        <td data-label="Waits"><Ago at={job.submitted_at} suffix="" /></td>
                        <td data-label="Causes since"><Ago at={job.since} suffix="" missing="–" /></td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </TableFrame>
              {(params.get("page") || page.next_page_token) && (
                <div className="pager">
                  {params.get("page") && <Link className="button" to={at("")}>First page</Link>}
                  {page.next_page_token && <Link className="button" to={at(page.next_page_token)}>Further back</Link>}
                </div>
              )}
            </>
          )}
      </Loaded>
    </section>
  );
}
