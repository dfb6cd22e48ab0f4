import { Icon, type IconName } from "./Icon";

/** Buttons of which any number may be pressed. */
export function Choices({ label, options, chosen, onToggle }: { label: string; options: { value: string; label?: string; icon?: IconName; tone?: string }[]; chosen: string[]; onToggle: (value: string) => void }) {
  return (
    <div className="choices" role="group" aria-label={label}>
      {options.map(({ value, label: text, icon, tone }) => (
        <button key={value} type="button" className={`choice${tone ? ` tone-${tone}` : ""}`} aria-pressed={chosen.includes(value)} onClick={() => onToggle(value)}>
          {icon && <Icon name={icon} size={13} />}
          {text ?? value}
        </button>
      ))}
    </div>
  );
}

/** Buttons of which one is pressed. */
export function Segments<V extends string>({ label, options, value, onChange }: { label: string; options: { value: V; label: string; icon?: IconName }[]; value: V | ""; onChange: (value: V) => void }) {
  return (
    <div className="segments" role="group" aria-label={label}>
      {options.map((option) => (
        <button key={option.value} type="button" aria-pressed={option.value === value} onClick={() => onChange(option.value)}>
          {option.icon && <Icon name={option.icon} size={14} />}
          {option.label}
        </button>
      ))}
    </div>
  );
}

/** A labelled drop-down with "any" as its first choice. */
export function Select({ label, value, options, any, onChange }: { label: string; value: string; options: string[]; any: string; onChange: (value: string) => void }) {
  const all = value && !options.includes(value) ? [value, ...options] : options;
  return (
    <label className="field-inline">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="">{any}</option>
        {all.map((option) => (
          <option key={option} value={option}>{option}</option>
        ))}
      </select>
    </label>
  );
}
