import { useRef, useState, type ButtonHTMLAttributes, type ReactNode } from "react";
import { Icon, type IconName } from "./Icon";
import { announce } from "./announce";

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  icon?: IconName;
  look?: "plain" | "primary" | "danger" | "quiet";
  children?: ReactNode;
}

export function Button({ icon, look = "plain", children, className = "", ...rest }: Props) {
  return (
    <button type="button" className={`button button-${look} ${className}`} {...rest}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** Puts `text` on the clipboard and says so. */
export function Copy({ text, label, children, look = "quiet" }: { text: string; label: string; children?: ReactNode; look?: "quiet" | "plain" }) {
  const [done, setDone] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    announce(`${label} copied`);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setDone(false), 1_500);
  };
  return (
    <Button look={look} icon={done ? "check" : "copy"} aria-label={children ? undefined : `Copy ${label}`} title={`Copy ${label}`} onClick={() => void copy().catch(() => announce(`${label} could not be copied`))}>
      {children}
    </Button>
  );
}
