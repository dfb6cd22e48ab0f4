import { plain } from "../format/ansi";

/** One line of a log; `number` counts from 1 over the whole log, also when older lines were let go. */
export interface LogLine {
  number: number;
  text: string;
}

/** Lines kept in memory; the download has all of them. */
export const MAX_LINES = 20_000;
/** A line longer than this is cut into several. */
const MAX_LINE = 10_000;

/**
 * Turns bytes that arrive in arbitrary pieces into lines. Bytes that are no UTF-8 become replacement characters, a
 * progress bar that rewrites its line with carriage returns shows its last state.
 */
export class LogBuffer {
  private decoder = new TextDecoder("utf-8", { fatal: false });
  private partial = "";
  private kept: LogLine[] = [];
  private count = 0;

  push(bytes: Uint8Array): void {
    const pieces = (this.partial + this.decoder.decode(bytes, { stream: true })).split("\n");
    this.partial = pieces.pop() ?? "";
    for (const piece of pieces) this.add(piece);
    while (this.partial.length > MAX_LINE && !this.partial.includes("\r")) {
      this.add(this.partial.slice(0, MAX_LINE));
      this.partial = this.partial.slice(MAX_LINE);
    }
    if (this.partial.length > MAX_LINE) this.partial = lastState(this.partial).slice(-MAX_LINE);
    if (this.kept.length > MAX_LINES * 1.1) this.kept = this.kept.slice(-MAX_LINES);
  }

  /** A line of our own, for example about missing bytes. */
  note(text: string): void {
    if (this.partial) {
      this.add(this.partial);
      this.partial = "";
    }
    this.add(`— ${text} —`);
  }

  /** The lines so far, the unfinished one included. */
  lines(): LogLine[] {
    const newest = this.kept.slice(-MAX_LINES);
    return this.partial ? [...newest, { number: this.count + 1, text: lastState(this.partial) }] : newest;
  }

  /** How many older lines are no longer in memory. */
  dropped(): number {
    return this.count - Math.min(this.kept.length, MAX_LINES);
  }

  private add(line: string): void {
    this.count += 1;
    this.kept.push({ number: this.count, text: lastState(line).slice(0, MAX_LINE) });
  }
}

/** What a terminal would show of a line that rewrote itself. */
function lastState(line: string): string {
  const text = line.endsWith("\r") ? line.slice(0, -1) : line;
  return text.slice(text.lastIndexOf("\r") + 1);
}

/** Numbers of the lines that contain `needle`, upper and lower case alike. */
export function matches(lines: LogLine[], needle: string): number[] {
  const wanted = needle.toLowerCase();
  if (!wanted) return [];
  return lines.filter((line) => plain(line.text).toLowerCase().includes(wanted)).map((line) => line.number);
}

const ERROR = /\b(ERROR|CRITICAL|FATAL)\b|Traceback \(most recent call last\)|^[\w.]*(Error|Exception)(:|$)|\bCUDA error\b|\bout of memory\b/;
const WARNING = /\b(WARN|WARNING)\b/;

/** How loud a line is. */
export function level(text: string): "error" | "warning" | "" {
  if (ERROR.test(text)) return "error";
  return WARNING.test(text) ? "warning" : "";
}
