import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState, type FormEvent } from "react";
import { asProblem } from "../api/problem";
import { signIn } from "../api/session";
import type { Problem } from "../api/types";
import { Button } from "../ui/Button";
import { ProblemBox } from "../ui/Feedback";
import { Logo } from "../ui/Icon";
import { useTitle } from "../ui/Layout";

/** Trades a token for a session; at once when the address of the page carried one. */
export function LoginPage({ linkToken }: { linkToken: string }) {
  useTitle("Sign in");
  const client = useQueryClient();
  const [token, setToken] = useState("");
  const [busy, setBusy] = useState(linkToken !== "");
  const [problem, setProblem] = useState<Problem | null>(null);
  const tried = useRef(false);

  const enter = useCallback(async (value: string) => {
    setBusy(true);
    setProblem(null);
    try {
      client.clear();
      await signIn(value);
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
    }
  }, [client]);

  useEffect(() => {
    if (!linkToken || tried.current) return;
    tried.current = true;
    void signIn(linkToken).catch((error: unknown) => {
      setProblem(asProblem(error));
      setBusy(false);
    });
  }, [linkToken]);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    void enter(token);
  };
  return (
    <main className="login">
      <form className="login-card" onSubmit={submit}>
        <div className="login-brand">
          <Logo size={40} />
          <div>
            <h1>Squadron</h1>
            <p>One control plane for Ray on many clusters</p>
          </div>
        </div>
        {problem && <ProblemBox compact problem={problem} />}
        <label className="field">
          <span>API token</span>
          <input type="password" name="token" autoComplete="current-password" autoFocus spellCheck={false} placeholder="sqd_…" value={token} onChange={(event) => setToken(event.target.value)} aria-describedby="token-help" required />
        </label>
        <p id="token-help" className="help">
          The first start of the control plane writes an administrator's token to the file <code>admin.token</code> in its data folder. The browser gets a session cookie in exchange and does not keep the token.
        </p>
        <Button type="submit" look="primary" disabled={busy || token.trim() === ""}>
          {busy ? "Signing in…" : "Sign in"}
        </Button>
      </form>
    </main>
  );
}
