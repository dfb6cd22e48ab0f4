import type { IconName } from "./Icon";

/** The look of a state: never colour alone, always with its word and an icon of its own. */
export interface Look {
  tone: Tone;
  icon: IconName;
}

export type Tone = "grey" | "blue" | "purple" | "green" | "red" | "amber";

const LOOKS: Record<string, Look> = {
  // jobs and attempts
  queued: { tone: "grey", icon: "clock" },
  assigned: { tone: "purple", icon: "arrow" },
  starting: { tone: "blue", icon: "half" },
  running: { tone: "blue", icon: "play" },
  stopping: { tone: "amber", icon: "stop" },
  succeeded: { tone: "green", icon: "check" },
  failed: { tone: "red", icon: "cross" },
  cancelled: { tone: "grey", icon: "slash" },
  // clusters
  active: { tone: "green", icon: "check" },
  silent: { tone: "amber", icon: "mute" },
  pending: { tone: "purple", icon: "key" },
  invited: { tone: "grey", icon: "mail" },
  revoked: { tone: "grey", icon: "slash" },
  // incidents
  open: { tone: "red", icon: "incidents" },
  resolved: { tone: "green", icon: "check" },
  critical: { tone: "red", icon: "bolt" },
  warning: { tone: "amber", icon: "incidents" },
  info: { tone: "blue", icon: "info" },
  // pod phases
  pending_pod: { tone: "grey", icon: "clock" },
  running_pod: { tone: "blue", icon: "play" },
  succeeded_pod: { tone: "green", icon: "check" },
  failed_pod: { tone: "red", icon: "cross" },
  unknown_pod: { tone: "amber", icon: "mute" },
};

export function lookOf(word: string): Look {
  return LOOKS[word] ?? { tone: "grey", icon: "info" };
}

export function isTerminal(state: string): boolean {
  return state === "succeeded" || state === "failed" || state === "cancelled";
}
