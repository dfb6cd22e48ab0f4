import { useEffect, useId, useRef, type ReactNode } from "react";
import { Button } from "./Button";

/** A modal dialog. The browser keeps the focus inside and closes on Escape; what had the focus gets it back. */
export function Dialog({ title, onClose, children, actions, wide = false }: { title: string; onClose: () => void; children: ReactNode; actions?: ReactNode; wide?: boolean }) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current;
    if (!dialog || dialog.open) return;
    const before = document.activeElement;
    dialog.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog ref={ref} className={`dialog${wide ? " dialog-wide" : ""}`} aria-labelledby={id} onClose={onClose}>
      <header className="dialog-head">
        <h2 id={id}>{title}</h2>
        <Button look="quiet" icon="cross" aria-label="Close" onClick={onClose} />
      </header>
      <div className="dialog-body">{children}</div>
      {actions && <footer className="dialog-foot">{actions}</footer>}
    </dialog>
  );
}
