import { keepPreviousData, QueryCache, QueryClient, useQueries, useQuery } from "@tanstack/react-query";
import { learnClock } from "./clock";
import { apiUrl, get, send, type Query } from "./client";
import { currentLiveness } from "./live";
import { ApiError } from "./problem";
import { becomeSession } from "./session";
import type { Cluster, Decision, Incident, Job, JobDetail, Me, Page, Queue, Usage, WaitingJob, Where } from "./types";

/** How often pages ask again while no stream of changes tells them to. */
const POLL_MS = 10_000;
/** And while it does. */
const SLOW_POLL_MS = 30_000;

/** One cache for all pages. An answer of 401 ends the session wherever it comes from. */
export function newQueryClient(): QueryClient {
  return new QueryClient({
    queryCache: new QueryCache({
      onError: (error) => {
        if (error instanceof ApiError && error.problem.status === 401) becomeSession("out");
      },
    }),
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        retry: (count, error) => count < 2 && !(error instanceof ApiError && error.problem.status >= 400 && error.problem.status < 500),
        refetchOnWindowFocus: true,
      },
    },
  });
}

/** The stream hints at what its own control plane changed; another one on the same database may have changed more. */
function pollMs(): number {
  return currentLiveness().state === "live" ? SLOW_POLL_MS : POLL_MS;
}

export function useMe() {
  return useQuery({ queryKey: ["me"], queryFn: ({ signal }) => get<Me>("/me", {}, signal), staleTime: Infinity });
}

export function useAbout() {
  return useQuery({ queryKey: ["version"], queryFn: ({ signal }) => learnClock(signal), staleTime: 600_000, refetchInterval: 600_000 });
}

export function useJobs(filter: Query) {
  return useQuery({
    queryKey: ["jobs", filter],
    queryFn: ({ signal }) => get<Page<Job>>("/jobs", filter, signal),
    placeholderData: keepPreviousData,
    refetchInterval: pollMs,
  });
}

export function useJob(id: string) {
  return useQuery({
    queryKey: ["job", id],
    queryFn: ({ signal }) => get<JobDetail>(`/jobs/${encodeURIComponent(id)}`, {}, signal),
    refetchInterval: pollMs,
  });
}

/** What was decided about a job, page by page. The key begins like the job's, so that its changes reach it. */
export function useDecisions(id: string, page: string) {
  return useQuery({
    queryKey: ["job", id, "decisions", page],
    queryFn: ({ signal }) => get<Page<Decision>>(`/jobs/${encodeURIComponent(id)}/decisions`, { limit: 20, page_token: page || undefined }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: pollMs,
  });
}

/** Where a waiting job would go now. */
export function useWhere(id: string) {
  return useQuery({
    queryKey: ["job", id, "where"],
    queryFn: ({ signal }) => get<Where>(`/jobs/${encodeURIComponent(id)}/where`, {}, signal),
    refetchInterval: pollMs,
  });
}

/** The line of a queue. Its key begins like the jobs', because every change of a job may move it. */
export function useWaiting(queue: string, page: string) {
  return useQuery({
    queryKey: ["jobs", "waiting", queue, page],
    queryFn: ({ signal }) => get<Page<WaitingJob>>("/queues/waiting", { queue, limit: 50, page_token: page || undefined }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: pollMs,
  });
}

/** Heartbeats move a cluster's last word without being a change, so clusters are always asked for again. */
export function useClusters() {
  return useQuery({
    queryKey: ["clusters"],
    queryFn: ({ signal }) => get<Page<Cluster>>("/clusters", {}, signal),
    refetchInterval: 5_000,
  });
}

export function useIncidents(state: string) {
  return useQuery({
    queryKey: ["incidents", state],
    queryFn: ({ signal }) => get<Page<Incident>>("/incidents", { state }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: pollMs,
  });
}

const incident = (id: string) => ({
  queryKey: ["incident", id],
  queryFn: ({ signal }: { signal: AbortSignal }) => get<Incident>(`/incidents/${encodeURIComponent(id)}`, {}, signal),
  refetchInterval: pollMs,
});

export function useIncident(id: string) {
  return useQuery(incident(id));
}

export function useIncidentsById(ids: string[]) {
  return useQueries({ queries: ids.map(incident) });
}

export function useQueues() {
  return useQuery({ queryKey: ["queues"], queryFn: ({ signal }) => get<Page<Queue>>("/queues", {}, signal), refetchInterval: pollMs });
}

export function useUsage(query: Query, enabled = true) {
  return useQuery({
    queryKey: ["usage", query],
    queryFn: ({ signal }) => get<Usage>("/usage", query, signal),
    placeholderData: keepPreviousData,
    refetchInterval: 60_000,
    enabled,
  });
}

/** The sheet in force as it was handed in; empty when none is. */
export function usePriceSheet() {
  return useQuery({
    queryKey: ["prices"],
    queryFn: ({ signal }) =>
      send(apiUrl("/price-sheets"), { signal }).then(
        (response) => response.text(),
        (error: unknown) => {
          if (error instanceof ApiError && error.problem.status === 404) return "";
          throw error;
        },
      ),
  });
}
