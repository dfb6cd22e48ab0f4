import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { asProblem } from "../api/problem";
import type { Problem } from "../api/types";
import { Button } from "./Button";
import { Icon, type IconName } from "./Icon";

/** What went wrong, what to do, and the id that finds it in the server's log. */
export function ProblemBox({ problem, retry, compact = false }: { problem: Problem; retry?: (() => void) | undefined; compact?: boolean }) {
  return (
    <div className={`problem${compact ? " problem-compact" : ""}`} role="alert">
      <Icon name="incidents" size={18} />
      <div className="problem-text">
        <p className="problem-detail">{problem.detail}</p>
        {problem.fields && problem.fields.length > 0 && (
          <ul>
            {problem.fields.map((field) => (
              <li key={field.path}>
                <code>{field.path}</code>: {field.problem}
              </li>
            ))}
          </ul>
        )}
        <p>{problem.next_step}</p>
        <p className="problem-id">
          {problem.code}
          {problem.request_id && <> · request {problem.request_id}</>}
        </p>
      </div>
      {retry && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}

/** Nothing to show, why, and the first step. */
export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <Icon name={icon} size={28} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Banner({ tone, icon, sticky = false, children }: { tone: "amber" | "red" | "blue"; icon: IconName; sticky?: boolean; children: ReactNode }) {
  return (
    <div className={`banner tone-${tone}${sticky ? " banner-sticky" : ""}`} role="status">
      <Icon name={icon} />
      <div>{children}</div>
    </div>
  );
}

/** Grey lines where rows will be. */
export function Skeleton({ lines = 6 }: { lines?: number }) {
  return (
    <div className="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, line) => (
        <div key={line} className="skeleton-line" />
      ))}
    </div>
  );
}

/** Shows a query in whatever state it is: loading, failed, failed but with older data, or there. */
export function Loaded<T>({ query, lines, children }: { query: UseQueryResult<T>; lines?: number; children: (data: T) => ReactNode }) {
  const retry = () => void query.refetch();
  if (query.data !== undefined) {
    return (
      <>
        {query.isError && <ProblemBox compact problem={asProblem(query.error)} retry={retry} />}
        {children(query.data)}
      </>
    );
  }
  // A first failure is shown at once, not only when the quiet repeats have failed as well.
  const failure = query.error ?? query.failureReason;
  if (failure) {
    const problem = asProblem(failure);
    return <ProblemBox problem={problem} retry={problem.status === 404 ? undefined : retry} />;
  }
  return <Skeleton {...(lines === undefined ? {} : { lines })} />;
}
