/** The filter of the job list: the same keys in the address of the page, in the API and in the command line. */
export interface JobFilter {
  status: string[];
  queue: string;
  cluster: string;
  owner: string;
  page: string;
}

export const STATES = ["queued", "assigned", "starting", "running", "stopping", "succeeded", "failed", "cancelled"];
export const ACTIVE = STATES.slice(0, 5);
export const FINISHED = STATES.slice(5);
/** States of jobs that hold or wait for room on a cluster, which a queue counts as running; as a query value. */
export const ON_CLUSTERS = STATES.slice(1, 5).join(",");

/** Reads the filter out of a query string. Unknown keys and states are passed over. */
export function readFilter(params: URLSearchParams): JobFilter {
  const status = (params.get("status") ?? "").split(",").filter((word) => STATES.includes(word));
  return {
    status: STATES.filter((state) => status.includes(state)),
    queue: params.get("queue") ?? "",
    cluster: params.get("cluster") ?? "",
    owner: params.get("owner") ?? "",
    page: params.get("page") ?? "",
  };
}

/** Writes the filter as a query string; what is not set is left out. */
export function writeFilter(filter: JobFilter): URLSearchParams {
  const params = new URLSearchParams();
  if (filter.status.length > 0) params.set("status", filter.status.join(","));
  for (const key of ["queue", "cluster", "owner", "page"] as const) {
    if (filter[key]) params.set(key, filter[key]);
  }
  return params;
}

/** Whether anything narrows the list. The page is a place in the list, not a narrowing. */
export function narrows(filter: JobFilter): boolean {
  return filter.status.length > 0 || [filter.queue, filter.cluster, filter.owner].some(Boolean);
}

/** The filter with `state` added, or taken away if it was there. */
export function toggled(filter: JobFilter, state: string): JobFilter {
  const has = filter.status.includes(state);
  const status = STATES.filter((other) => (other === state ? !has : filter.status.includes(other)));
  return { ...filter, status, page: "" };
}

export function sameStates(a: string[], b: string[]): boolean {
  return a.length === b.length && a.every((state) => b.includes(state));
}
