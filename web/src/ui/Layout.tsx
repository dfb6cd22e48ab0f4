import { useEffect, type ReactNode } from "react";
import { Link } from "react-router";

/** Head of a page: its title, what it is about, and what can be done. Sets the window's title. */
export function PageHead({ title, note, children }: { title: string; note?: ReactNode; children?: ReactNode }) {
  useTitle(title);
  return (
    <header className="page-head">
      <div>
        <h1>{title}</h1>
        {note && <p className="page-note">{note}</p>}
      </div>
      {children && <div className="actions">{children}</div>}
    </header>
  );
}

/** The way back to the list that a thing belongs to. */
export function Crumbs({ to, label }: { to: string; label: string }) {
  return <nav className="crumbs" aria-label="Breadcrumb"><Link to={to}>{label}</Link><span aria-hidden="true">/</span></nav>;
}

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title ? `${title} · Squadron` : "Squadron";
  }, [title]);
}

export function Card({ title, actions, children, className = "" }: { title?: ReactNode; actions?: ReactNode; children: ReactNode; className?: string }) {
  return (
    <section className={`card ${className}`}>
      {title && (
        <header className="card-head">
          <h2>{title}</h2>
          {actions}
        </header>
      )}
      {children}
    </section>
  );
}

/** Terms and their values, as a definition list. Entries without a value are left out. */
export function Facts({ items }: { items: [term: string, value: ReactNode][] }) {
  return (
    <dl className="facts">
      {items
        .filter(([, value]) => value !== null && value !== undefined && value !== "")
        .map(([term, value]) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** A table that scrolls sideways inside its own frame; the frame can be reached by keyboard. */
export function TableFrame({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="table-frame" role="region" aria-label={label} tabIndex={0}>
      {children}
    </div>
  );
}

/** Machine text as it is, with a button that copies it. */
export function Verbatim({ text, className = "" }: { text: string; className?: string }) {
  return <pre className={`verbatim ${className}`} tabIndex={0}>{text}</pre>;
}
