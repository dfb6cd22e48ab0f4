import { useState } from "react";
import { useNavigate, useSearchParams } from "react-router";
import { useClusters, useJobs, useQueues } from "../api/queries";
import type { Job, Page } from "../api/types";
import { listCommand } from "../format/command";
import { PartialBanner } from "../shell/PartialBanner";
import { Button, Copy } from "../ui/Button";
import { Choices, Segments, Select } from "../ui/Choices";
import { Empty, Loaded } from "../ui/Feedback";
import { PageHead } from "../ui/Layout";
import { lookOf } from "../ui/state";
import { ACTIVE, FINISHED, narrows, readFilter, sameStates, STATES, toggled, writeFilter, type JobFilter } from "./filter";
import { JobTable } from "./JobTable";
import { SubmitDialog } from "./SubmitDialog";

const PAGE_SIZE = 50;

/** All jobs of the fleet, newest first, filtered and paged by the server. The address holds the whole filter. */
export function JobsPage() {
  const [params, setParams] = useSearchParams();
  const [submitting, setSubmitting] = useState(false);
  const filter = readFilter(params);
  const apply = (next: JobFilter) => setParams(writeFilter(next));
  const jobs = useJobs({
    status: filter.status.join(","), queue: filter.queue, cluster: filter.cluster, owner: filter.owner, limit: PAGE_SIZE, page_token: filter.page,
  });
  return (
    <>
      <PageHead title="Jobs" note="Every job of the fleet, newest first">
        <OpenJob />
        <Button look="primary" onClick={() => setSubmitting(true)}>Submit</Button>
        <Copy look="plain" label="command" text={listCommand({ ...filter, status: filter.status.join(",") })}>Copy as CLI</Copy>
      </PageHead>
      {submitting && <SubmitDialog onClose={() => setSubmitting(false)} />}
      <Filters filter={filter} apply={apply} />
      <Loaded query={jobs} lines={10}>
        {(page) => <Listing page={page} filter={filter} apply={apply} />}
      </Loaded>
    </>
  );
}

function Listing({ page, filter, apply }: { page: Page<Job>; filter: JobFilter; apply: (next: JobFilter) => void }) {
  const scope = writeFilter(filter).toString();
  return (
    <>
      <PartialBanner page={page} />
      {page.items.length === 0 ? <NoJobs filter={filter} apply={apply} /> : <JobTable jobs={page.items} scope={scope} />}
      {(filter.page || page.next_page_token) && (
        <nav className="pager" aria-label="Pages of the list">
          <Button disabled={!filter.page} onClick={() => apply({ ...filter, page: "" })}>Newest</Button>
          <Button disabled={!page.next_page_token} onClick={() => apply({ ...filter, page: page.next_page_token ?? "" })}>Older</Button>
        </nav>
      )}
    </>
  );
}

function Filters({ filter, apply }: { filter: JobFilter; apply: (next: JobFilter) => void }) {
  const queues = useQueues();
  const clusters = useClusters();
  const group = filter.status.length === 0 ? "all" : sameStates(filter.status, ACTIVE) ? "active" : sameStates(filter.status, FINISHED) ? "finished" : "";
  const groups = { all: [], active: ACTIVE, finished: FINISHED };
  const set = (change: Partial<JobFilter>) => apply({ ...filter, ...change, page: "" });
  return (
    <div className="filters" role="search" aria-label="Filter jobs">
      <Segments label="Group of states" value={group} onChange={(value) => set({ status: groups[value] })} options={[{ value: "all", label: "All" }, { value: "active", label: "Active" }, { value: "finished", label: "Finished" }]} />
      <div className="filters-end">
        <Select label="Queue" any="Any queue" value={filter.queue} options={(queues.data?.items ?? []).map((queue) => queue.name)} onChange={(queue) => set({ queue })} />
        <Select label="Cluster" any="Any cluster" value={filter.cluster} options={(clusters.data?.items ?? []).map((cluster) => cluster.name)} onChange={(cluster) => set({ cluster })} />
        {filter.owner && <Button icon="cross" onClick={() => set({ owner: "" })}>owner {filter.owner}</Button>}
        {narrows(filter) && <Button look="quiet" onClick={() => apply(readFilter(new URLSearchParams()))}>Clear</Button>}
      </div>
      <Choices label="States" chosen={filter.status} onToggle={(state) => apply(toggled(filter, state))} options={STATES.map((value) => ({ value, icon: lookOf(value).icon, tone: lookOf(value).tone }))} />
    </div>
  );
}

/** Jumps to a job by name or id, whatever page of the list it is on. */
function OpenJob() {
  const [text, setText] = useState("");
  const navigate = useNavigate();
  return (
    <form className="open-job" role="search" aria-label="Open a job" onSubmit={(event) => {
      event.preventDefault();
      if (text.trim()) void navigate(`/jobs/${encodeURIComponent(text.trim())}`);
    }}>
      <input type="search" data-search aria-label="Job name or id" placeholder="Open job by name or id" value={text} onChange={(event) => setText(event.target.value)} />
      <kbd aria-hidden="true">/</kbd>
    </form>
  );
}

function NoJobs({ filter, apply }: { filter: JobFilter; apply: (next: JobFilter) => void }) {
  if (filter.page) {
    return (
      <Empty icon="jobs" title="No older jobs">
        <Button onClick={() => apply({ ...filter, page: "" })}>Back to the newest</Button>
      </Empty>
    );
  }
  if (narrows(filter)) {
    return (
      <Empty icon="search" title="No job matches this filter">
        <p>There may be jobs in other states, queues or clusters.</p>
        <Button look="primary" onClick={() => apply(readFilter(new URLSearchParams()))}>Clear the filter</Button>
      </Empty>
    );
  }
  return (
    <Empty icon="jobs" title="No jobs yet">
      <p>Submit any RayJob manifest; it is taken unchanged.</p>
      <div className="command-line"><code>squadron submit rayjob.yaml -q default</code><Copy text="squadron submit rayjob.yaml -q default" label="command" /></div>
    </Empty>
  );
}
