import { useSearchParams } from "react-router";
import { useIncidents } from "../api/queries";
import { PartialBanner } from "../shell/PartialBanner";
import { Segments } from "../ui/Choices";
import { Empty, Loaded } from "../ui/Feedback";
import { PageHead } from "../ui/Layout";
import { IncidentCard } from "./IncidentCard";

type Which = "open" | "resolved" | "all";

/** Incidents, the open ones first. */
export function IncidentsPage() {
  const [params, setParams] = useSearchParams();
  const asked = params.get("state");
  const which: Which = asked === "resolved" || asked === "all" ? asked : "open";
  const incidents = useIncidents(which === "all" ? "" : which);
  return (
    <>
      <PageHead title="Incidents" note="Failures with one cause, their evidence and the jobs they hit">
        <Segments label="State" value={which} onChange={(state) => setParams(state === "open" ? {} : { state })} options={[{ value: "open", label: "Open" }, { value: "resolved", label: "Resolved" }, { value: "all", label: "All" }]} />
      </PageHead>
      <Loaded query={incidents}>
        {(page) => (
          <>
            <PartialBanner page={page} />
            {page.items.length === 0 ? <NoIncidents which={which} /> : (
              <div className="stack">{page.items.map((incident) => <IncidentCard key={incident.id} incident={incident} />)}</div>
            )}
          </>
        )}
      </Loaded>
    </>
  );
}

function NoIncidents({ which }: { which: Which }) {
  if (which === "open") {
    return <Empty icon="check" title="Nothing is broken"><p>No incident is open. When a worker is killed, an image cannot be pulled or a GPU reports an error, the cause appears here with its evidence.</p></Empty>;
  }
  return <Empty icon="incidents" title={which === "resolved" ? "No incident has been resolved" : "No incident so far"} />;
}
