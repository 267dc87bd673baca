/** What a server process tells the one that watches over it when it serves. */
export interface ServerReport {
  readonly type: "ready";
  readonly url: string;
  readonly agents: readonly string[];
  readonly defaultAgent: string;
}

/** What it tells before it exits because it cannot begin; its exit code says why. */
export interface FailureReport {
  readonly type: "failed";
}

/** What the watching process tells a server: end at once, what was cut goes on after the next start. */
export interface StopMessage {
  readonly type: "stop";
}

/** Says whether a message between the two is a report. */
export function isServerReport(message: unknown): message is ServerReport {
  return hasType(message, "ready");
}

/** Says whether a message between the two is of a server that cannot begin. */
export function isFailureReport(message: unknown): message is FailureReport {
  return hasType(message, "failed");
}

/** Says whether a message between the two asks to stop. */
export function isStopMessage(message: unknown): message is StopMessage {
  return hasType(message, "stop");
}

function hasType(message: unknown, type: string): boolean {
  return typeof message === "object" && message !== null && "type" in message && message.type === type;
}
