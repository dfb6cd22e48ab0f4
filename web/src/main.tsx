import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/controls.css";
import "./styles/shell.css";
import "./styles/pages.css";
import "./styles/logs.css";
import "./styles/fleet.css";
import "./styles/queues.css";
import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { BrowserRouter } from "react-router";
import { App } from "./App";
import { newQueryClient } from "./api/queries";
import { tokenInFragment } from "./api/session";
import { applyTheme } from "./ui/preferences";

applyTheme();

// A login link carries its token in the fragment, which browsers do not send. It leaves the address at once.
const link = tokenInFragment(window.location.hash);
if (link) window.history.replaceState(null, "", window.location.pathname + window.location.search + link.rest);

// A link opened in a window that already shows the console changes only the fragment: start again with it.
window.addEventListener("hashchange", () => {
  if (tokenInFragment(window.location.hash)) window.location.reload();
});

const root = document.getElementById("root");
if (!root) throw new Error("index.html has no element with the id root");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={newQueryClient()}>
      <BrowserRouter>
        <App token={link?.token ?? ""} />
      </BrowserRouter>
    </QueryClientProvider>
  </StrictMode>,
);
