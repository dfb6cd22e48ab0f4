import type { Cluster, Incident, Job } from "../api/types";
import type { IconName } from "../ui/Icon";
import type { Tone } from "../ui/state";

/** Something a person should look at, in one sentence of the server. */
export interface Notice {
  key: string;
  to: string;
  icon: IconName;
  tone: Tone;
  title: string;
  sentence: string;
  since: string | null;
}

/** What needs a person, most urgent first: alarms, critical incidents, silence, pending clusters, jobs that failed, other incidents, waiting jobs. */
export function attention(clusters: Cluster[], incidents: Incident[], waiting: Job[], failed: Job[] = []): Notice[] {
  const alarmed = clusters.filter((cluster) => cluster.alarm);
  const critical = incidents.filter((incident) => incident.severity === "critical");
  const others = incidents.filter((incident) => incident.severity !== "critical");
  return [
    ...alarmed.map((cluster) => ofCluster(cluster, "alarm", "bolt", "red", `Alarm on ${cluster.name}`, cluster.alarm, null)),
    ...critical.map((incident) => ofIncident(incident, "bolt", "red")),
    ...clusters.filter((cluster) => cluster.state === "silent").map((cluster) => ofCluster(cluster, "silent", "mute", "amber", `${cluster.name} is silent`, cluster.sentence, cluster.silent_since ?? null)),
    ...clusters.filter((cluster) => cluster.state === "pending").map((cluster) => ofCluster(cluster, "pending", "key", "purple", `${cluster.name} asks to be let in`, cluster.sentence, null)),
    ...failed.map((job): Notice => ({ key: `failed ${job.id}`, to: `/jobs/${job.id}`, icon: "cross", tone: "red", title: `${job.name} failed`, sentence: job.sentence, since: job.ended_at ?? null })),
    ...others.map((incident) => ofIncident(incident, "incidents", "amber")),
    ...waiting.map((job): Notice => ({ key: `job ${job.id}`, to: `/jobs/${job.id}?tab=why`, icon: "clock", tone: "grey", title: `${job.name} waits`, sentence: job.sentence, since: job.submitted_at })),
  ];
}

const DAY_MS = 86_400_000;

/** Jobs that ended within a day before `now`, the newest end first. */
export function ofLastDay(jobs: Job[], now: number): Job[] {
  const end = (job: Job) => (job.ended_at ? Date.parse(job.ended_at) : 0);
  return jobs.filter((job) => end(job) > now - DAY_MS).sort((a, b) => end(b) - end(a));
}

function ofCluster(cluster: Cluster, kind: string, icon: IconName, tone: Tone, title: string, sentence: string, since: string | null): Notice {
  return { key: `${kind} ${cluster.id}`, to: "/clusters", icon, tone, title, sentence, since };
}

function ofIncident(incident: Incident, icon: IconName, tone: Tone): Notice {
  return { key: `incident ${incident.id}`, to: `/incidents/${incident.id}`, icon, tone, title: incident.title, sentence: incident.explanation, since: incident.last_seen_at };
}
