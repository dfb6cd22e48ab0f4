/** What the HTTP API sends and takes. Mirrors the crate `squadron-api`. */

export interface Page<T> {
  items: T[];
  next_page_token?: string | null;
  as_of: string;
  /** Set when rows may be out of date, with the reason as a sentence. */
  partial?: string | null;
}

export interface Resources {
  cpu_milli: number;
  memory_bytes: number;
  gpus: number;
}

export interface Me {
  subject: string;
  role: string;
}

export interface About {
  version: string;
  now: string;
}

export interface Job {
  id: string;
  name: string;
  namespace: string;
  queue: string;
  state: string;
  reason: string;
  sentence: string;
  cluster?: string | null;
  attempt: number;
  owner: string;
  requests: Resources;
  submitted_at: string;
  started_at?: string | null;
  ended_at?: string | null;
  version: number;
  stale_since?: string | null;
}

export interface SubmitReply {
  job?: Job | null;
  position?: number | null;
  link: string;
  warnings: string[];
}

export interface Attempt {
  number: number;
  cluster: string;
  state: string;
  object: string;
  chosen_because: string;
  ended_because: string;
  assigned_at: string;
  running_at?: string | null;
  ended_at?: string | null;
}

export interface TimelineEntry {
  at: string;
  source: string;
  sentence: string;
}

export interface Pod {
  name: string;
  role: string;
  node: string;
  phase: string;
  reason: string;
  exit_code?: number | null;
  gone: boolean;
}

export interface Blocker {
  code: string;
  cluster: string;
  sentence: string;
  try_this: string;
}

export interface Why {
  sentence: string;
  position?: number | null;
  queue_length: number;
  blockers: Blocker[];
  decided_at: string;
}

export interface JobDetail {
  job: Job;
  manifest: string;
  attempts: Attempt[];
  timeline: TimelineEntry[];
  pods: Pod[];
  why?: Why | null;
  incidents: string[];
  cost?: string | null;
}

export interface ClusterIdentity {
  issuer: string;
  subject: string;
  kube_system_uid: string;
  key_ids: string[];
}

export interface Cluster {
  id: string;
  name: string;
  state: string;
  sentence: string;
  last_heard_at?: string | null;
  silent_since?: string | null;
  identity?: ClusterIdentity | null;
  agent_version: string;
  kubernetes_version: string;
  clock_skew_ms?: number | null;
  spool_bytes: number;
  nodes: number;
  allocatable: Resources;
  free: Resources;
  alarm: string;
  version: number;
}

export interface AddClusterReply {
  cluster: Cluster;
  audience: string;
  ca_bundle: string;
  agent_address: string;
  code: string;
  code_expires_at: string;
  helm_command: string;
}

export interface HitJob {
  id: string;
  name: string;
  because: string;
}

export interface Evidence {
  at: string;
  fact: string;
  sentence: string;
  raw: string;
}

export interface Incident {
  id: string;
  state: string;
  verdict: string;
  severity: string;
  title: string;
  explanation: string;
  next_step: string;
  cluster: string;
  node: string;
  jobs: HitJob[];
  evidence: Evidence[];
  first_seen_at: string;
  last_seen_at: string;
  version: number;
}

export interface Queue {
  name: string;
  queued: number;
  running: number;
}

export interface UsageRow {
  kind: string;
  team: string;
  job: string;
  cluster: string;
  cpu_hours: string;
  memory_gib_hours: string;
  gpu_hours: string;
  amount: string;
  amount_exact: string;
}

export interface Usage {
  from: string;
  to: string;
  currency: string;
  rows: UsageRow[];
  total: UsageRow;
  capacity_amount: string;
  reconciliation: string;
  notes: string[];
}

export interface FieldProblem {
  path: string;
  problem: string;
}

export interface Problem {
  code: string;
  status: number;
  detail: string;
  next_step: string;
  request_id: string;
  fields?: FieldProblem[];
}

export interface Change {
  kind: string;
  id: string;
  version: number;
}
