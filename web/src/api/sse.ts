/** One server-sent event. */
export interface SseEvent {
  event: string;
  data: string;
  id: string;
}

/** A single event may not grow past this many characters; a server that sends more is broken. */
const MAX_EVENT = 1 << 20;

/**
 * Reads server-sent events out of a text stream that arrives in arbitrary pieces.
 * Comments (keep-alives) yield nothing; the caller learns from the arrival of bytes that the stream lives.
 */
export class SseParser {
  private pending = "";
  private data: string[] = [];
  private event = "";
  private id = "";

  /** Events completed by this piece. */
  push(piece: string): SseEvent[] {
    this.pending += piece;
    if (this.pending.length > MAX_EVENT) throw new Error("a server-sent event is larger than allowed");
    const done: SseEvent[] = [];
    // A carriage return at the very end may be half of a CRLF: keep it until more comes.
    const lines = this.pending.split(/\r\n|\n|\r(?!$)/);
    this.pending = lines.pop() ?? "";
    for (const line of lines) {
      const finished = this.line(line);
      if (finished) done.push(finished);
    }
    return done;
  }

  private line(line: string): SseEvent | null {
    if (line === "") return this.dispatch();
    if (line.startsWith(":")) return null;
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.data.push(value);
    else if (field === "event") this.event = value;
    else if (field === "id") this.id = value;
    return null;
  }

  private dispatch(): SseEvent | null {
    const { data, event, id } = this;
    this.data = [];
    this.event = "";
    return data.length === 0 ? null : { event: event || "message", data: data.join("\n"), id };
  }
}
