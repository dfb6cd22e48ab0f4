import { useState } from "react";
import { useSearchParams } from "react-router";
import { now } from "../api/clock";
import { useUsage } from "../api/queries";
import type { Usage } from "../api/types";
import { usageCommand } from "../format/command";
import { csv, download } from "../format/csv";
import { Button, Copy } from "../ui/Button";
import { Choices, Segments } from "../ui/Choices";
import { Empty, Loaded } from "../ui/Feedback";
import { Icon } from "../ui/Icon";
import { Card, PageHead } from "../ui/Layout";
import { When } from "../ui/Time";
import { bounds, isDay, presetOf, presetPeriod, PRESETS, readPeriod, type Period, type Preset } from "./period";
import { asTable, GROUPS, readGroups, type Group } from "./rows";
import { PricesDialog } from "./PricesDialog";
import { ShareBar } from "./ShareBar";
import { UsageTable } from "./UsageTable";

/** Who held what, for how much; rows that sum to what the nodes cost. */
export function UsagePage() {
  const [params, setParams] = useSearchParams();
  const [pricing, setPricing] = useState(false);
  const period = readPeriod(params, now());
  const groups = readGroups(params);
  const { from, to } = bounds(period, now());
  const usage = useUsage({ from, to, by: groups.join(",") });
  const apply = (next: Period, by: Group[]) => setParams({ from: next.first, to: next.last, by: by.join(",") });
  const toggle = (group: string) => {
    const next = GROUPS.filter((other) => (other === group ? !groups.includes(other) : groups.includes(other)));
    if (next.length > 0) apply(period, next);
  };
  return (
    <>
      <PageHead title="Usage" note="What was held, by whom, for how much">
        <Button onClick={() => setPricing(true)}>Prices</Button>
        {usage.data && <Copy look="plain" label="command" text={usageCommand(groups, usage.data.from, usage.data.to)}>Copy as CLI</Copy>}
        {usage.data && <Button icon="download" onClick={() => save(usage.data, groups, period)}>CSV</Button>}
      </PageHead>
      {pricing && <PricesDialog onClose={() => setPricing(false)} />}
      <div className="filters">
        <PeriodPicker period={period} onChange={(next) => apply(next, groups)} />
        <div className="filters-end"><span className="muted">by</span><Choices label="Group by" options={GROUPS.map((value) => ({ value }))} chosen={groups} onToggle={toggle} /></div>
      </div>
      <Loaded query={usage} lines={8}>{(data) => <Report usage={data} groups={groups} />}</Loaded>
    </>
  );
}

function PeriodPicker({ period, onChange }: { period: Period; onChange: (period: Period) => void }) {
  const set = (change: Partial<Period>) => {
    const next = { ...period, ...change };
    if (isDay(next.first) && isDay(next.last) && next.first <= next.last) onChange(next);
  };
  return (
    <>
      <Segments label="Period" value={presetOf(period, now())} onChange={(preset: Preset) => onChange(presetPeriod(preset, now()))} options={(Object.keys(PRESETS) as Preset[]).map((value) => ({ value, label: PRESETS[value] }))} />
      <div className="dates">
        <input type="date" aria-label="First day, UTC" value={period.first} max={period.last} onChange={(event) => set({ first: event.target.value })} />
        <span aria-hidden="true">–</span>
        <input type="date" aria-label="Last day, UTC" value={period.last} min={period.first} onChange={(event) => set({ last: event.target.value })} />
        <span className="muted">days in UTC</span>
      </div>
    </>
  );
}

function Report({ usage, groups }: { usage: Usage; groups: Group[] }) {
  const first = groups[0] ?? "kind";
  if (usage.rows.length === 0) {
    return (
      <Empty icon="usage" title="Nothing was held in this time">
        <p>{usage.reconciliation || "Rows appear once a cluster has nodes."}</p>
        <Notes notes={usage.notes} />
      </Empty>
    );
  }
  return (
    <div className="stack">
      <Card className="totals">
        <div className="total"><span>Total</span><b className="big-number" data-total>{usage.total.amount} <small>{usage.currency}</small></b></div>
        <div className="total"><span>Capacity of the nodes</span><b className="big-number">{usage.capacity_amount} <small>{usage.currency}</small></b></div>
        <div className={`reconciled${usage.total.amount === usage.capacity_amount ? "" : " unreconciled"}`}>
          <Icon name={usage.total.amount === usage.capacity_amount ? "check" : "incidents"} size={18} />
          <p>{usage.reconciliation}</p>
        </div>
        <p className="muted total-period"><When at={usage.from} /> to <When at={usage.to} /></p>
        <ShareBar usage={usage} group={first} />
      </Card>
      <Notes notes={usage.notes} />
      <UsageTable usage={usage} groups={groups} />
    </div>
  );
}

function Notes({ notes }: { notes: string[] }) {
  if (notes.length === 0) return null;
  return <ul className="notes" aria-label="Notes on these figures">{notes.map((note) => <li key={note}><Icon name="info" size={14} />{note}</li>)}</ul>;
}

function save(usage: Usage, groups: Group[], period: Period): void {
  const { header, rows } = asTable(usage, groups);
  download(`squadron-usage-${period.first}-${period.last}.csv`, csv(header, rows), "text/csv");
}
