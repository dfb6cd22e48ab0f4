/** A stretch of text with one style; `style` names CSS classes, space-separated, or is empty. */
export interface Span {
  text: string;
  style: string;
}

const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
/** Any terminal control sequence: CSI, OSC (ended by BEL or ST), or a lone two-byte escape. */
// eslint-disable-next-line no-control-regex
const SEQUENCE = /\x1b\[([0-9;:?]*)[ -/]*([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]?/g;
// eslint-disable-next-line no-control-regex
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f]/g;

/** Splits a line into styled spans. Colours and bold are kept, every other control sequence is dropped. */
export function spans(line: string): Span[] {
  if (!line.includes("\x1b")) return [{ text: clean(line), style: "" }];
  const found: Span[] = [];
  let style: Style = { colour: "", bold: false };
  let at = 0;
  for (const match of line.matchAll(SEQUENCE)) {
    push(found, line.slice(at, match.index), style);
    if (match[2] === "m") style = applied(style, match[1] ?? "");
    at = match.index + match[0].length;
  }
  push(found, line.slice(at), style);
  return found;
}

/** The line as plain text. */
export function plain(line: string): string {
  return line.includes("\x1b") ? clean(line.replace(SEQUENCE, "")) : clean(line);
}

interface Style {
  colour: string;
  bold: boolean;
}

function applied(style: Style, parameters: string): Style {
  const codes = parameters.split(/[;:]/).map((code) => Number(code || "0"));
  let { colour, bold } = style;
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    if (code === 0) [colour, bold] = ["", false];
    else if (code === 1) bold = true;
    else if (code === 22) bold = false;
    else if (code === 39) colour = "";
    else if (code === 38 || code === 48) at += codes[at + 1] === 5 ? 2 : 4;
    else if (code >= 30 && code <= 37) colour = COLOURS[code - 30] ?? "";
    else if (code >= 90 && code <= 97) colour = COLOURS[code - 90] ?? "";
  }
  return { colour, bold };
}

function push(found: Span[], text: string, { colour, bold }: Style): void {
  const cleaned = clean(text);
  if (!cleaned) return;
  const style = [colour && `ansi-${colour}`, bold && "ansi-bold"].filter(Boolean).join(" ");
  found.push({ text: cleaned, style });
}

function clean(text: string): string {
  return text.replace(CONTROL, "");
}
