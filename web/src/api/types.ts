import type { components } from "./schema";

/** What the HTTP API sends and takes, by the names that the pages use. `schema.ts` is generated from docs/openapi.json. */
type Schemas = components["schemas"];

/** What is scheduled and paid for. The document has it as a plain object. */
export interface Resources {
  /** Thousandths of a core. */
  cpu_milli: number;
  memory_bytes: number;
  /** Whole devices. */
  gpus: number;
}

export type Job = Omit<Schemas["Job"], "requests"> & { requests: Resources };
export type JobDetail = Omit<Schemas["JobDetail"], "job" | "why"> & { job: Job; why?: Why | null };
export type SubmitReply = Omit<Schemas["SubmitReply"], "job"> & { job?: Job | null };
export type Attempt = Schemas["Attempt"];
export type TimelineEntry = Schemas["TimelineEntry"];
export type Pod = Schemas["Pod"];
export type Why = Omit<Schemas["Why"], "ahead"> & { ahead: { count: number; jobs: WaitingJob[] } };

/** Amounts that the document has as plain objects. */
type Sized<T> = Omit<T, "free" | "total"> & { free: Resources; total: Resources };

export type Term = Schemas["Term"];
export type Candidate = Sized<Schemas["Candidate"]>;
export type Refused = Sized<Schemas["Refused"]>;
interface Compared {
  candidates: Candidate[];
  refused: Refused[];
}
export type Decision = Omit<Schemas["Decision"], keyof Compared> & Compared;
export type Where = Omit<Schemas["Where"], keyof Compared | "requests"> & Compared & { requests: Resources };
export type WaitingJob = Omit<Schemas["WaitingJob"], "requests"> & { requests: Resources };

export type Cluster = Omit<Schemas["Cluster"], "allocatable" | "free"> & { allocatable: Resources; free: Resources };
export type AddClusterReply = Omit<Schemas["AddClusterReply"], "cluster"> & { cluster: Cluster };

export type Incident = Schemas["Incident"];
export type Resolved = Schemas["Resolved"];
export type Evidence = Schemas["Evidence"];
export type Queue = Omit<Schemas["Queue"], "used"> & { used: Resources };
export type QueueQuota = Schemas["QueueQuota"];
export type WhatIf = Schemas["WhatIf"];
export type WhatIfStanding = Schemas["WhatIfStanding"];
export type Usage = Schemas["Usage"];
export type PriceSheetReply = Schemas["PriceSheetReply"];
export type UsageRow = Schemas["UsageRow"];

export type About = Schemas["About"];
export type Me = Schemas["Me"];
export type Change = Schemas["Change"];
export type Problem = Schemas["Problem"];

/** A list with its scope and age; the same envelope around every kind of row. */
export type Page<T> = Omit<Schemas["Page_Job"], "items"> & { items: T[] };
