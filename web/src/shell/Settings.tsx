import { useState, useSyncExternalStore } from "react";
import { currentLiveness, subscribeLiveness } from "../api/live";
import { asProblem } from "../api/problem";
import { useAbout } from "../api/queries";
import { signOut } from "../api/session";
import type { Me } from "../api/types";
import { zoneName } from "../format/time";
import { announce } from "../ui/announce";
import { Button } from "../ui/Button";
import { Segments } from "../ui/Choices";
import { prefer, usePreferences } from "../ui/preferences";

/** The foot of the navigation: live or not, time zone, theme, who is signed in. */
export function Settings({ me, onHelp }: { me: Me | undefined; onHelp: () => void }) {
  const { zone, theme } = usePreferences();
  const about = useAbout();
  const [open, setOpen] = useState(false);
  const leave = () => signOut().catch((error: unknown) => announce(asProblem(error).detail));
  return (
    <div className="settings">
      <LiveDot />
      <Button look="quiet" icon="sliders" className="settings-toggle" aria-expanded={open} aria-controls="settings" aria-label="Settings" onClick={() => setOpen(!open)} />
      <div id="settings" className={`settings-body${open ? " settings-open" : ""}`}>
        <Segments label="Time zone" value={zone} onChange={(next) => prefer({ zone: next })} options={[{ value: "utc", label: "UTC" }, { value: "local", label: "Local" }]} />
        <Segments label="Theme" value={theme} onChange={(next) => prefer({ theme: next })} options={[{ value: "auto", label: "Auto", icon: "auto" }, { value: "light", label: "Light", icon: "sun" }, { value: "dark", label: "Dark", icon: "moon" }]} />
        <p className="settings-note">Times in {zoneName(zone)}</p>
        <div className="settings-me">
          <span title={me && `Role ${me.role}`}>{me?.subject ?? "unknown"}{me && me.role !== me.subject && <small>{me.role}</small>}</span>
          <Button look="quiet" icon="out" aria-label="Sign out" title="Sign out" onClick={() => void leave()} />
        </div>
        <p className="settings-note">
          {about.data ? `Squadron ${about.data.version}` : "Squadron"} · <button type="button" className="link" onClick={onHelp}>keys</button>
        </p>
      </div>
    </div>
  );
}

function LiveDot() {
  const { state } = useSyncExternalStore(subscribeLiveness, currentLiveness);
  const words = { live: "Live", connecting: "Connecting", down: "Not live" };
  return <span className={`live live-${state}`} role="status"><i aria-hidden="true" />{words[state]}</span>;
}
