/** Commands that show or do the same as a page, ready to paste into a shell. */

export interface Command {
  label: string;
  text: string;
}

/** Quotes a word for a POSIX shell when it needs it. */
export function quoted(word: string): string {
  return /^[A-Za-z0-9_./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

export function jobCommands(id: string, waiting: boolean, live: boolean): Command[] {
  const job = quoted(id);
  const commands = [
    { label: "Describe", text: `squadron describe ${job}` },
    { label: live ? "Follow the log" : "Print the log", text: `squadron logs ${live ? "-f " : ""}${job}` },
  ];
  if (waiting) commands.push({ label: "Why it waits", text: `squadron why ${job}` });
  if (live) commands.push({ label: "Cancel", text: `squadron cancel ${job}` });
  return commands;
}

export function listCommand(filter: { status?: string; queue?: string; cluster?: string; owner?: string }): string {
  const flags = (["status", "queue", "cluster", "owner"] as const)
    .filter((key) => filter[key])
    .map((key) => ` --${key} ${quoted(filter[key] ?? "")}`);
  return `squadron list${flags.join("")}`;
}

export function usageCommand(by: string[], from: string, to: string): string {
  return `squadron usage --by ${by.join(",")} --from ${quoted(from)} --to ${quoted(to)}`;
}
