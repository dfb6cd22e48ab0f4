import type { Usage } from "../api/types";
import { colourOf, shares, type Group } from "./rows";

/** How the total divides, as one bar with a legend that says the same in words. */
export function ShareBar({ usage, group }: { usage: Usage; group: Group }) {
  const drawn = shares(usage, group);
  if (drawn.length === 0) return null;
  return (
    <figure className="shares">
      <div className="shares-bar" aria-hidden="true">
        {drawn.map((share, index) => <span key={share.label} className={`share share-${colourOf(drawn, index)}`} style={{ flexGrow: share.percent }} />)}
      </div>
      <figcaption>
        <ul className="legend">
          {drawn.map((share, index) => (
            <li key={share.label}><i className={`share-${colourOf(drawn, index)}`} aria-hidden="true" />{share.label} <b>{share.percent < 0.1 ? "< 0.1" : share.percent.toFixed(1)} %</b></li>
          ))}
        </ul>
      </figcaption>
    </figure>
  );
}
