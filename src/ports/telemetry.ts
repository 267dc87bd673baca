import type { FinishReason } from "../protocol/events.ts";

/** Hears what the runtime does, for metrics and logs. Its methods return at once and never throw. */
export interface Telemetry {
  /** A request was accepted. */
  accepted(agent: string): void;
  /** A turn ended after so many milliseconds of running and waiting. */
  completed(agent: string, reason: FinishReason, ms: number): void;
  /** A batch was committed. */
  committed(events: number, ms: number): void;
  /** Something came too late and was dropped. */
  dropped(what: "late_event" | "late_result"): void;
  /** A fault that no caller will hear of; `detail` is for our own log. */
  fault(message: string, detail?: unknown): void;
}
