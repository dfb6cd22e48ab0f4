import type { Candidate, Refused, Term } from "../api/types";
import { price, resources } from "../format/amount";
import { TableFrame } from "../ui/Layout";

const TITLES: Record<string, string> = { borrowing: "Borrowing", preference: "Preference", data: "Data", spread: "Spread", price: "Price", idle_gpus: "Idle GPUs", node_size: "Node size", run: "Run", jobs_there: "Jobs there", fullness: "Fullness" };
const MEANINGS: Record<string, string> = {
  borrowing: "1 where its queue would go beyond its guarantee, 0 where it would not",
  preference: "Place in the job's own list; after all of it what is in no list, then what the job avoids",
  data: "Its data sets that are not near",
  spread: "Jobs of its group there, from which it keeps apart",
  price: "What it would cost an hour with its minimum of workers",
  idle_gpus: "GPUs on the nodes it would take that it does not ask for",
  node_size: "The largest of those nodes: large nodes stay free for large work",
  run: "0 where jobs of this pass went already and some more are to follow, in a fleet of 64 clusters and more",
  jobs_there: "Jobs that run there",
  fullness: "How full the cluster would be in its scarcest resource",
};

/** Clusters that had room with every term, best first, and what the others lacked. */
export function Candidates({ candidates, refused, leftOut }: { candidates: Candidate[]; refused: Refused[]; leftOut: number }) {
  return (
    <>
      {candidates.length > 0 && <Ranked candidates={candidates} />}
      {refused.length > 0 && <Refusals refused={refused} />}
      {leftOut > 0 && <p className="pad muted">{leftOut} more clusters are not listed.</p>}
    </>
  );
}

function Ranked({ candidates }: { candidates: Candidate[] }) {
  const terms = candidates[0]?.terms ?? [];
  return (
    <TableFrame label="Clusters with room">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Has room</th><th scope="col">Free of all</th>
            {terms.map((term) => <th key={term.name} scope="col" className="number" title={MEANINGS[term.name]}>{TITLES[term.name] ?? term.name}</th>)}
          </tr>
        </thead>
        <tbody>
          {candidates.map((one) => (
            <tr key={one.cluster}>
              <td className="name">{one.cluster}</td>
              <td data-label="Free">{resources(one.free)} of {resources(one.total)}</td>
              {one.terms.map((term) => (
                <td key={term.name} className="number" data-label={TITLES[term.name] ?? term.name} title={term.clause}>
                  {term.decided ? <b className="decided">{value(term)}<span className="sr-only"> decided</span></b> : value(term)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </TableFrame>
  );
}

function Refusals({ refused }: { refused: Refused[] }) {
  return (
    <TableFrame label="Clusters that cannot take it">
      <table className="table">
        <thead><tr><th scope="col">Cannot take it</th><th scope="col">Free of all</th><th scope="col">Why</th></tr></thead>
        <tbody>
          {refused.map((one) => (
            <tr key={one.cluster}>
              <td className="name">{one.cluster}</td>
              <td data-label="Free">{resources(one.free)} of {resources(one.total)}</td>
              <td className="cell-prose">{one.sentence} <code>{one.code}</code></td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableFrame>
  );
}

function value(term: Term): string {
  if (term.name === "price") return `${price(term.value)} ${(term.unit ?? "").split("/")[0]}`;
  return term.name === "fullness" ? `${(term.value / 10).toFixed(1)} %` : String(term.value);
}
