import { Fragment } from "react";
import type { TimelineEntry } from "../api/types";
import { dayOf, duration, zoneName } from "../format/time";
import { Empty } from "../ui/Feedback";
import { Icon, type IconName } from "../ui/Icon";
import { Card } from "../ui/Layout";
import { usePreferences } from "../ui/preferences";
import { Clock } from "../ui/Time";

const SOURCES: Record<string, { icon: IconName; label: string }> = {
  job: { icon: "jobs", label: "Job" },
  pod: { icon: "clusters", label: "Pod" },
  ray: { icon: "bolt", label: "Ray" },
  incident: { icon: "incidents", label: "Incident" },
  kernel: { icon: "terminal", label: "Kernel" },
};

/** Everything that happened, oldest first. */
export function Timeline({ entries }: { entries: TimelineEntry[] }) {
  const { zone } = usePreferences();
  if (entries.length === 0) return <Empty icon="clock" title="Nothing has been reported yet"><p>Steps appear here as the control plane and the cluster report them.</p></Empty>;
  return (
    <Card title={<>Timeline <small>{entries.length} steps, times in {zoneName(zone)}</small></>}>
      <TimelineList entries={entries} gaps />
    </Card>
  );
}

export function TimelineList({ entries, gaps = false }: { entries: TimelineEntry[]; gaps?: boolean }) {
  const { zone } = usePreferences();
  return (
    <ol className="timeline">
      {entries.map((entry, index) => {
        const before = entries[index - 1];
        const newDay = !before || dayOf(before.at, zone) !== dayOf(entry.at, zone);
        const gap = before ? Date.parse(entry.at) - Date.parse(before.at) : 0;
        const { icon, label } = SOURCES[entry.source] ?? { icon: "info" as const, label: entry.source };
        return (
          <Fragment key={`${index} ${entry.at} ${entry.sentence}`}>
            {newDay && <li className="timeline-day">{dayOf(entry.at, zone)}</li>}
            <li className={`timeline-entry source-${entry.source}`}>
              <Clock at={entry.at} />
              <span className="timeline-icon" title={label}><Icon name={icon} size={13} /></span>
              <span className="timeline-text"><span className="sr-only">{label}: </span>{entry.sentence}</span>
              {gaps && gap >= 1_000 && <span className="timeline-gap" title="Time since the step before">+{duration(gap)}</span>}
            </li>
          </Fragment>
        );
      })}
    </ol>
  );
}
