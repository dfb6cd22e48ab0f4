import { Icon } from "./Icon";
import { lookOf } from "./state";

/** A state as word, colour and icon. `as` picks the look when the word alone is ambiguous. */
export function State({ word, as, large = false }: { word: string; as?: string; large?: boolean }) {
  const { tone, icon } = lookOf(as ?? word);
  return (
    <span className={`state tone-${tone}${large ? " state-large" : ""}`} data-state={word}>
      <Icon name={icon} size={large ? 15 : 13} />
      {word || "unknown"}
    </span>
  );
}
