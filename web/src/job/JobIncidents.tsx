import { useIncidentsById } from "../api/queries";
import { asProblem } from "../api/problem";
import { IncidentCard } from "../incidents/IncidentCard";
import { Empty, ProblemBox, Skeleton } from "../ui/Feedback";

/** Incidents that hit this job. */
export function JobIncidents({ ids }: { ids: string[] }) {
  if (ids.length === 0) return <Empty icon="check" title="No incident hit this job"><p>Failures with a cause in pods, nodes or GPUs would be listed here with their evidence.</p></Empty>;
  return <div className="stack"><IncidentCards ids={ids} /></div>;
}

export function IncidentCards({ ids }: { ids: string[] }) {
  const queries = useIncidentsById(ids);
  return (
    <>
      {queries.map((query, index) => {
        if (query.data) return <IncidentCard key={ids[index]} incident={query.data} />;
        if (query.isError) return <ProblemBox key={ids[index]} compact problem={asProblem(query.error)} retry={() => void query.refetch()} />;
        return <Skeleton key={ids[index]} lines={2} />;
      })}
    </>
  );
}
