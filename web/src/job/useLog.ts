import { useEffect, useRef, useState } from "react";
import { followLog, type LogStatus } from "../api/logs";
import { bytes as size } from "../format/amount";
import { LogBuffer, type LogLine } from "./logBuffer";

interface LogState {
  lines: LogLine[];
  dropped: number;
  status: LogStatus;
}

/** How often new lines reach the screen, so that a flood costs the same as a trickle. */
const PAINT_MS = 120;

/** Follows the log of one attempt while the component is shown. */
export function useLog(job: string, attempt: number, ended: boolean): LogState {
  const [state, setState] = useState<LogState>({ lines: [], dropped: 0, status: { kind: "opening" } });
  const finished = useRef(ended);
  useEffect(() => {
    finished.current = ended;
  }, [ended]);
  useEffect(() => {
    const stop = new AbortController();
    const buffer = new LogBuffer();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const paint = () => {
      timer = undefined;
      setState((old) => ({ ...old, lines: buffer.lines(), dropped: buffer.dropped() }));
    };
    const soon = () => {
      timer ??= setTimeout(paint, PAINT_MS);
    };
    void followLog(job, attempt, () => finished.current, {
      status: (status) => setState((old) => ({ ...old, status })),
      bytes: (piece) => {
        buffer.push(piece);
        soon();
      },
      missing: (count, told) => {
        buffer.note(told || `${size(count)} of the log are missing here`);
        soon();
      },
    }, stop.signal);
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [job, attempt]);
  return state;
}
