import { Link, useParams, useSearchParams } from "react-router";
import { useJob } from "../api/queries";
import type { JobDetail } from "../api/types";
import { Loaded } from "../ui/Feedback";
import { Crumbs, useTitle } from "../ui/Layout";
import { isTerminal } from "../ui/state";
import { Attempts } from "./Attempts";
import { Cost } from "./Cost";
import { JobHead } from "./JobHead";
import { JobIncidents } from "./JobIncidents";
import { Logs } from "./Logs";
import { Manifest } from "./Manifest";
import { Placement } from "./Placement";
import { Pods } from "./Pods";
import { Summary } from "./Summary";
import { Timeline } from "./Timeline";
import { WhyPanel } from "./WhyPanel";

const TABS = ["summary", "timeline", "why", "placement", "logs", "pods", "attempts", "cost", "incidents", "manifest"] as const;
type Tab = (typeof TABS)[number];

/** One job: what it does now, and everything that is known about how it came there. Works when its pods are long gone. */
export function JobPage() {
  const { job = "" } = useParams();
  const [params] = useSearchParams();
  const query = useJob(job);
  useTitle(query.data?.job.name ?? "Job");
  const asked = params.get("tab") as Tab;
  const tab = TABS.includes(asked) ? asked : "summary";
  return (
    <>
      <Crumbs to="/jobs" label="Jobs" />
      <Loaded query={query} lines={8}>
        {(detail) => (
          <>
            <JobHead detail={detail} />
            <Tabs detail={detail} tab={tab} />
            <Panel key={tab} tab={tab} detail={detail} />
          </>
        )}
      </Loaded>
    </>
  );
}

function Tabs({ detail, tab }: { detail: JobDetail; tab: Tab }) {
  const counts: Partial<Record<Tab, number>> = {
    pods: detail.pods.length, attempts: detail.attempts.length, incidents: detail.incidents.length,
    why: isTerminal(detail.job.state) ? 0 : detail.why?.blockers.length ?? 0,
  };
  return (
    <nav className="tabs" aria-label="Sections of this job">
      {TABS.map((name) => (
        <Link key={name} to={name === "summary" ? "?" : `?tab=${name}`} aria-current={name === tab ? "page" : undefined}>
          {name.charAt(0).toUpperCase() + name.slice(1)}
          {Boolean(counts[name]) && <span className="tab-count">{counts[name]}</span>}
        </Link>
      ))}
    </nav>
  );
}

function Panel({ tab, detail }: { tab: Tab; detail: JobDetail }) {
  switch (tab) {
    case "summary":
      return <Summary detail={detail} />;
    case "timeline":
      return <Timeline entries={detail.timeline} />;
    case "why":
      return <WhyPanel detail={detail} />;
    case "placement":
      return <Placement detail={detail} />;
    case "logs":
      return <Logs detail={detail} />;
    case "pods":
      return <Pods pods={detail.pods} job={detail.job} />;
    case "attempts":
      return <Attempts attempts={detail.attempts} />;
    case "cost":
      return <Cost detail={detail} />;
    case "incidents":
      return <JobIncidents ids={detail.incidents} />;
    case "manifest":
      return <Manifest detail={detail} />;
  }
}
