import { useState } from "react";
import { useDecisions, useWhere } from "../api/queries";
import type { Decision, JobDetail } from "../api/types";
import { Button } from "../ui/Button";
import { Empty, Loaded } from "../ui/Feedback";
import { Card } from "../ui/Layout";
import { When } from "../ui/Time";
import { Candidates } from "./Candidates";

/** Where the job could go now while it waits, what was compared when it was placed, and everything that was decided about it. */
export function Placement({ detail }: { detail: JobDetail }) {
  const { job } = detail;
  const [pages, setPages] = useState<string[]>([]);
  const query = useDecisions(job.id, pages.at(-1) ?? "");
  return (
    <div className="stack">
      {job.state === "queued" && <Now id={job.id} />}
      <Loaded query={query} lines={5}>
        {(page) => page.items.length === 0
          ? <Empty icon="clock" title="Nothing was decided yet"><p>{job.sentence}</p></Empty>
          : (
            <>
              {pages.length === 0 && <Chosen decision={page.items.find((one) => one.outcome === "assigned")} />}
              <Card title="Decisions, the newest first">
                <ol className="plain-list">{page.items.map((one) => <Row key={one.number} decision={one} />)}</ol>
              </Card>
              {(pages.length > 0 || page.next_page_token) && (
                <div className="pager">
                  <Button disabled={pages.length === 0} onClick={() => setPages(pages.slice(0, -1))}>Newer</Button>
                  <Button disabled={!page.next_page_token} onClick={() => setPages([...pages, page.next_page_token ?? ""])}>Older</Button>
                </div>
              )}
            </>
          )}
      </Loaded>
    </div>
  );
}

/** What a pass would decide at this moment. */
function Now({ id }: { id: string }) {
  const query = useWhere(id);
  return (
    <Loaded query={query} lines={3}>
      {(found) => (
        <Card title={found.cluster ? `It goes to ${found.cluster} next` : "Where it could go now"}>
          {found.cluster && <p className="pad">{found.sentence}</p>}
          {found.estimate.kind !== "now" && <p className="pad"><b>Wait</b> {found.estimate.sentence}</p>}
          <Candidates candidates={found.candidates} refused={found.refused} leftOut={found.left_out} />
        </Card>
      )}
    </Loaded>
  );
}

function Chosen({ decision }: { decision: Decision | undefined }) {
  if (!decision) return null;
  return (
    <Card title={`Attempt ${decision.attempt ?? ""} went to ${decision.cluster ?? "a cluster"}`} actions={<When at={decision.first_at} />}>
      <p className="pad">{decision.sentence}</p>
      <Candidates candidates={decision.candidates} refused={decision.refused} leftOut={decision.left_out} />
    </Card>
  );
}

/** An outcome that is no placement. */
function spoken(outcome: string) {
  const words: Record<string, string> = {
    stopped: "asked to stop", makes_room: "others make room for it", shrunk: "has to shrink", lifted: "may grow again",
  };
  return words[outcome] ?? "waits";
}

function Row({ decision }: { decision: Decision }) {
  const placed = decision.outcome === "assigned";
  return (
    <li>
      <p className="decision-head">
        <span className={`tag tone-${placed ? "green" : "amber"}`}>{placed ? `placed on ${decision.cluster ?? ""}` : spoken(decision.outcome)}</span>
        <When at={decision.first_at} />
        {decision.times > 1 && <span className="muted">told anew {decision.times - 1} times, last <When at={decision.last_at} /></span>}
        {decision.cause && <code>{decision.cause}</code>}
      </p>
      <p className="sentence">{decision.sentence}</p>
    </li>
  );
}
