import { useEffect, useRef } from "react";
import { Dialog } from "../ui/Dialog";

const PAGE_KEYS: Record<string, string> = { f: "/", j: "/jobs", c: "/clusters", i: "/incidents", u: "/usage", q: "/queues" };

/** Keys that work on every page. They rest while somebody types or a dialog is open. */
export function useKeys(go: (to: string) => void, help: () => void): void {
  const handlers = useRef({ go, help });
  useEffect(() => {
    handlers.current = { go, help };
  });
  useEffect(() => {
    let leader = 0;
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const page = Date.now() - leader < 1_200 ? PAGE_KEYS[event.key] : undefined;
      leader = event.key === "g" ? Date.now() : 0;
      if (page) handlers.current.go(page);
      else if (event.key === "?") handlers.current.help();
      else if (event.key === "/") {
        const search = document.querySelector<HTMLElement>("[data-search]");
        if (!search) return;
        event.preventDefault();
        search.focus();
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  if (document.querySelector("dialog[open]")) return true;
  return target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));
}

export function KeyHelp({ onClose }: { onClose: () => void }) {
  const keys: [string, string][] = [
    ["g f", "Fleet"], ["g j", "Jobs"], ["g c", "Clusters"], ["g i", "Incidents"], ["g u", "Usage"], ["g q", "Queues"],
    ["/", "Go to the search field of the page"], ["Esc", "Close a dialog"], ["?", "This list"],
  ];
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <dl className="keys">
        {keys.map(([key, meaning]) => (
          <div key={key}>
            <dt>{key.split(" ").map((part) => <kbd key={part}>{part}</kbd>)}</dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
