import { percent } from "../format/amount";

/** Used and free of one resource. The words carry the figures; the bar only shows their proportion. */
export function CapacityBar({ label, total, free, show }: { label: string; total: number; free: number; show: (amount: number) => string }) {
  if (total <= 0) return <div className="bar-row bar-none"><span>{label}</span><span className="muted">none</span></div>;
  const used = Math.max(0, total - free);
  const share = percent(used, total);
  return (
    <div className="bar-row">
      <span>{label}</span>
      <span className="bar" aria-hidden="true"><span className="bar-fill" style={{ inlineSize: `${share}%` }} /></span>
      <span className="bar-text"><b>{show(Math.max(0, free))}</b> free of {show(total)}</span>
    </div>
  );
}
