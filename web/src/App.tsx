import { useSyncExternalStore } from "react";
import { Navigate, Route, Routes } from "react-router";
import { sessionState, subscribeSession } from "./api/session";
import { ClustersPage } from "./clusters/ClustersPage";
import { FleetPage } from "./fleet/FleetPage";
import { IncidentPage } from "./incidents/IncidentPage";
import { IncidentsPage } from "./incidents/IncidentsPage";
import { JobPage } from "./job/JobPage";
import { JobsPage } from "./jobs/JobsPage";
import { LoginPage } from "./login/LoginPage";
import { QueuesPage } from "./queues/QueuesPage";
import { NotFoundPage } from "./shell/NotFoundPage";
import { Shell } from "./shell/Shell";
import { UsagePage } from "./usage/UsagePage";

/** All pages and their addresses. Without a session every address shows the sign-in and keeps its place. */
export function App({ token }: { token: string }) {
  const session = useSyncExternalStore(subscribeSession, sessionState);
  if (session === "out" || (token && session === "unknown")) return <LoginPage linkToken={session === "unknown" ? token : ""} />;
  return (
    <Routes>
      <Route element={<Shell />}>
        <Route index element={<FleetPage />} />
        <Route path="login" element={<Navigate to="/" replace />} />
        <Route path="jobs" element={<JobsPage />} />
        <Route path="jobs/:job" element={<JobPage />} />
        <Route path="clusters" element={<ClustersPage />} />
        <Route path="incidents" element={<IncidentsPage />} />
        <Route path="incidents/:incident" element={<IncidentPage />} />
        <Route path="usage" element={<UsagePage />} />
        <Route path="queues" element={<QueuesPage />} />
        <Route path="*" element={<NotFoundPage />} />
      </Route>
    </Routes>
  );
}
