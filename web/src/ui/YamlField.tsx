import type { ChangeEvent } from "react";

/** YAML, typed, pasted or read from a file of this machine. */
export function YamlField({ label, value, onChange, placeholder }: { label: string; value: string; onChange: (text: string) => void; placeholder: string }) {
  const read = (event: ChangeEvent<HTMLInputElement>) => {
    const [file] = event.target.files ?? [];
    if (file) void file.text().then(onChange);
  };
  return (
    <>
      <label className="field">
        <span>{label}</span>
        <textarea rows={14} spellCheck={false} autoCapitalize="none" autoComplete="off" placeholder={placeholder} value={value} onChange={(event) => onChange(event.target.value)} />
      </label>
      <label className="field">
        <span>or a file</span>
        <input type="file" accept=".yaml,.yml,.json,application/yaml" onChange={read} />
      </label>
    </>
  );
}
