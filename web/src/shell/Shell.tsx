import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, useSyncExternalStore } from "react";
import { NavLink, Outlet, useLocation, useNavigate } from "react-router";
import { keysOf } from "../api/changes";
import { currentLiveness, followChanges, subscribeLiveness } from "../api/live";
import { useIncidents, useMe } from "../api/queries";
import { becomeSession } from "../api/session";
import { ApiError } from "../api/problem";
import { useAnnouncement } from "../ui/announce";
import { Banner, Skeleton } from "../ui/Feedback";
import { Icon, Logo, type IconName } from "../ui/Icon";
import { Clock } from "../ui/Time";
import { KeyHelp, useKeys } from "./keys";
import { Settings } from "./Settings";

const PAGES: { to: string; label: string; icon: IconName }[] = [
  { to: "/", label: "Fleet", icon: "fleet" },
  { to: "/jobs", label: "Jobs", icon: "jobs" },
  { to: "/clusters", label: "Clusters", icon: "clusters" },
  { to: "/incidents", label: "Incidents", icon: "incidents" },
  { to: "/usage", label: "Usage", icon: "usage" },
  { to: "/queues", label: "Queues", icon: "queues" },
];

/** The frame around every page: navigation, the state of the live stream, settings. */
export function Shell() {
  const me = useMe();
  const [help, setHelp] = useState(false);
  const navigate = useNavigate();
  useKeys((to) => void navigate(to), () => setHelp(true));
  useLiveUpdates(me.isSuccess);
  useFocusOnNavigation();
  // A page that fails for another reason than a missing session shows that itself.
  const denied = me.error instanceof ApiError && me.error.problem.status === 401;
  if (me.isPending || denied) return <main className="boot"><Skeleton lines={3} /></main>;
  return (
    <div className="shell">
      <a className="skip" href="#main">Skip to content</a>
      <header className="side">
        <NavLink to="/" className="brand" aria-label="Squadron, fleet">
          <Logo />
          <span>Squadron</span>
        </NavLink>
        <Navigation />
        <Settings me={me.data} onHelp={() => setHelp(true)} />
      </header>
      <main id="main" tabIndex={-1}>
        <LiveBanner />
        <Outlet />
      </main>
      <Announcement />
      {help && <KeyHelp onClose={() => setHelp(false)} />}
    </div>
  );
}

function Navigation() {
  const open = useIncidents("open");
  const count = open.data?.items.length ?? 0;
  return (
    <nav aria-label="Pages">
      {PAGES.map(({ to, label, icon }) => (
        <NavLink key={to} to={to} end={to === "/"}>
          <Icon name={icon} size={18} />
          <span>{label}</span>
          {to === "/incidents" && count > 0 && <span className="count" aria-label={`${count} open`}>{count}</span>}
        </NavLink>
      ))}
    </nav>
  );
}

function LiveBanner() {
  const live = useSyncExternalStore(subscribeLiveness, currentLiveness);
  if (live.state !== "down") return null;
  return (
    <Banner sticky tone="amber" icon="mute">
      <strong>Not live since <Clock at={new Date(live.since).toISOString()} />.</strong> The stream of changes is interrupted; the console reconnects by itself and asks every few seconds meanwhile.
    </Banner>
  );
}

function Announcement() {
  const text = useAnnouncement();
  return <div className={`announcement${text ? " announcement-shown" : ""}`} role="status" aria-live="polite">{text}</div>;
}

/** Keeps the stream of changes open and refetches what they touch; after a gap, everything. */
function useLiveUpdates(enabled: boolean): void {
  const client = useQueryClient();
  useEffect(() => {
    if (!enabled) return;
    let first = true;
    return followChanges({
      changes: (changes) => {
        for (const queryKey of keysOf(changes)) void client.invalidateQueries({ queryKey });
      },
      opened: () => {
        if (!first) void client.invalidateQueries();
        first = false;
      },
      signedOut: () => becomeSession("out"),
    });
  }, [client, enabled]);
}

/** A new page starts at its top, also for keyboards and screen readers; a new tab or filter keeps its place. */
function useFocusOnNavigation(): void {
  const { pathname } = useLocation();
  useEffect(() => {
    document.getElementById("main")?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }, [pathname]);
}
