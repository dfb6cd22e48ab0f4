import { memo, useEffect, useLayoutEffect, useMemo, useRef } from "react";
import type { LogStatus } from "../api/logs";
import { plain, spans } from "../format/ansi";
import { grouped } from "../format/amount";
import { ProblemBox } from "../ui/Feedback";
import { level, MAX_LINES, type LogLine } from "./logBuffer";

/** Lines that are laid out together; blocks outside the view cost nothing. */
const BLOCK = 100;

interface Props {
  lines: LogLine[];
  dropped: number;
  follow: boolean;
  onLeave: () => void;
  wrap: boolean;
  needle: string;
  current: number;
  jump: number;
  marked: number;
  onMark: (line: number) => void;
  status: LogStatus;
}

/** The lines themselves. Scrolling up stops following. */
export function LogBody({ lines, dropped, follow, onLeave, wrap, needle, current, jump, marked, onMark, status }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const blocks = useMemo(() => blocksOf(lines), [lines]);
  useLayoutEffect(() => {
    const box = frame.current;
    if (box && follow) box.scrollTop = box.scrollHeight;
  }, [follow, lines, wrap]);
  const known = lines.length > 0 && (lines.at(-1)?.number ?? 0) >= jump;
  useEffect(() => {
    if (jump > 0 && known) frame.current?.querySelector(`[data-line="${jump}"]`)?.scrollIntoView({ block: "center" });
  }, [jump, known]);
  const wheel = (event: React.WheelEvent) => {
    if (event.deltaY < 0 && follow) onLeave();
  };
  const key = (event: React.KeyboardEvent) => {
    if (["PageUp", "ArrowUp", "Home"].includes(event.key)) onLeave();
  };
  return (
    <div ref={frame} className={`log${wrap ? " log-wrap" : ""}`} role="log" aria-live="off" aria-label="Driver log" tabIndex={0} onWheel={wheel} onTouchMove={() => follow && onLeave()} onKeyDown={key}>
      {dropped > 0 && <p className="log-note">{grouped(String(dropped))} older lines are not kept on screen (the newest {grouped(String(MAX_LINES))} are); the download has all.</p>}
      {status.kind === "failed" && <ProblemBox problem={status.problem} />}
      {lines.length === 0 && status.kind !== "failed" && <p className="log-note">{status.kind === "complete" ? "The driver wrote nothing." : "Waiting for the driver's first line…"}</p>}
      {blocks.map((block) => (
        <Block key={block[0]?.number} lines={block} needle={needle} current={within(block, current)} marked={within(block, marked)} onMark={onMark} />
      ))}
    </div>
  );
}

/** The line's number if it lies in the block, else 0, so that other blocks need no new drawing. */
function within(block: LogLine[], line: number): number {
  return block.some(({ number }) => number === line) ? line : 0;
}

/** Cuts at fixed line numbers, so that a full block never changes again. */
function blocksOf(lines: LogLine[]): LogLine[][] {
  const blocks: LogLine[][] = [];
  for (const line of lines) {
    const last = blocks.at(-1);
    if (!last || (line.number - 1) % BLOCK === 0) blocks.push([line]);
    else last.push(line);
  }
  return blocks;
}

interface BlockProps {
  lines: LogLine[];
  needle: string;
  current: number;
  marked: number;
  onMark: (line: number) => void;
}

const Block = memo(function Block({ lines, needle, current, marked, onMark }: BlockProps) {
  return (
    <div className="log-block">
      {lines.map(({ number, text }) => (
        <div key={number} data-line={number} className={classes(text, number === current, number === marked)}>
          <button type="button" className="log-number" tabIndex={-1} aria-label={`Mark line ${number}`} onClick={() => onMark(number)}>{number}</button>
          <span className="log-text">{needle ? highlighted(text, needle) : styled(text)}</span>
        </div>
      ))}
    </div>
  );
}, sameBlock);

function sameBlock(a: BlockProps, b: BlockProps): boolean {
  const last = (block: LogLine[]) => block.at(-1);
  return a.needle === b.needle && a.current === b.current && a.marked === b.marked && a.lines.length === b.lines.length
    && a.lines[0]?.number === b.lines[0]?.number && last(a.lines)?.text === last(b.lines)?.text;
}

function classes(text: string, current: boolean, marked: boolean): string {
  const loud = level(plain(text));
  return ["log-line", loud && `log-${loud}`, current && "log-current", marked && "log-marked"].filter(Boolean).join(" ");
}

function styled(text: string) {
  return spans(text).map((span, index) => (span.style ? <span key={index} className={span.style}>{span.text}</span> : span.text));
}

function highlighted(text: string, needle: string) {
  const shown = plain(text);
  const lower = shown.toLowerCase();
  const wanted = needle.toLowerCase();
  const parts = [];
  let at = 0;
  for (let hit = lower.indexOf(wanted); hit >= 0; hit = lower.indexOf(wanted, at)) {
    parts.push(shown.slice(at, hit), <mark key={hit}>{shown.slice(hit, hit + wanted.length)}</mark>);
    at = hit + wanted.length;
  }
  parts.push(shown.slice(at));
  return parts;
}
