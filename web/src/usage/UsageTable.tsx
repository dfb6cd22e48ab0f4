import { Link } from "react-router";
import type { Usage, UsageRow } from "../api/types";
import { hours, money } from "../format/amount";
import { TableFrame } from "../ui/Layout";
import type { Group } from "./rows";

const TITLES: Record<Group, string> = { kind: "Kind", team: "Team", job: "Job", cluster: "Cluster" };
const KINDS: Record<string, string> = {
  team: "Pods of jobs", shared: "Other pods", overhead: "System pods and what nodes reserve", idle: "Held by nobody",
};

/** The rows with their total. Hover shows every digit. */
export function UsageTable({ usage, groups }: { usage: Usage; groups: Group[] }) {
  return (
    <TableFrame label="Usage">
      <table className="table usage-table">
        <thead>
          <tr>
            {groups.map((group) => <th key={group} scope="col">{TITLES[group]}</th>)}
            <th scope="col" className="number">CPU h</th>
            <th scope="col" className="number">Memory GiB h</th>
            <th scope="col" className="number">GPU h</th>
            <th scope="col" className="number">{usage.currency || "Amount"}</th>
          </tr>
        </thead>
        <tbody>
          {usage.rows.map((row) => (
            <tr key={groups.map((group) => row[group]).join("\0")} data-usage-row>
              {groups.map((group) => <td key={group} className="cell-wrap" data-label={TITLES[group]}><Cell row={row} group={group} /></td>)}
              <Figures row={row} currency={usage.currency} />
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row" colSpan={groups.length}>Total</th>
            <Figures row={usage.total} currency={usage.currency} />
          </tr>
        </tfoot>
      </table>
    </TableFrame>
  );
}

function Cell({ row, group }: { row: UsageRow; group: Group }) {
  const text = row[group];
  if (!text) return <span className="muted">–</span>;
  if (group === "job") return <Link to={`/jobs/${encodeURIComponent(row.job_id || text)}`}>{text}</Link>;
  if (group === "team") return <Link to={`/jobs?queue=${encodeURIComponent(text)}`}>{text}</Link>;
  if (group === "kind") return <span title={KINDS[text]}>{text}</span>;
  return <>{text}</>;
}

/** Exact amounts that make one unit of the currency; docs/prices.md says why. */
const UNIT = "4831838208000000000000000000";

function Figures({ row, currency }: { row: UsageRow; currency: string }) {
  return (
    <>
      <td className="number" data-label="CPU h" title={row.cpu_hours}>{hours(row.cpu_hours)}</td>
      <td className="number" data-label="Memory GiB h" title={row.memory_gib_hours}>{hours(row.memory_gib_hours)}</td>
      <td className="number" data-label="GPU h" title={row.gpu_hours}>{hours(row.gpu_hours)}</td>
      <td className="number amount" data-label="Amount" data-amount={row.amount} title={`${row.amount} ${currency}; before rounding ${row.amount_exact} / ${UNIT}`}>{money(row.amount, row.amount_exact)}</td>
    </>
  );
}
