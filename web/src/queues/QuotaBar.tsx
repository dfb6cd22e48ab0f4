import type { QueueQuota } from "../api/types";
import { amountOf, partsOf, sentenceOf } from "./quota";

/** One flavor and resource of a queue. The words carry the figures; the bar only shows their proportion. */
export function QuotaBar({ quota }: { quota: QueueQuota }) {
  const title = [
    `nominal ${amountOf(quota.resource, quota.nominal)}`,
    ...(quota.borrowing_limit == null ? [] : [`borrows at most ${amountOf(quota.resource, quota.borrowing_limit)}`]),
    ...(quota.lending_limit == null ? [] : [`lends at most ${amountOf(quota.resource, quota.lending_limit)}`]),
    ...(quota.flavor_weight == null || quota.flavor_weight === 1_000 ? [] : [`a GPU counts as ${quota.flavor_weight / 1_000}`]),
  ].join(", ");
  return (
    <div className="quota" title={title}>
      <span>{quota.flavor} {quota.resource}</span>
      <span className="bar quota-bar" aria-hidden="true">
        {partsOf(quota).map((part) => <span key={part.kind} className={`quota-${part.kind}`} style={{ flexGrow: part.amount }} />)}
      </span>
      <span className="muted">{sentenceOf(quota)}</span>
    </div>
  );
}
