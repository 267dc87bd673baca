import type { FinishReason } from "../protocol/events.ts";

/** Receives runtime events for metrics and logs. Its methods return immediately and never throw. */
export interface Telemetry {
  /** A request was accepted. */
  accepted(agent: string): void;
  /** A turn ended; `ms` is its running and waiting time. */
  completed(agent: string, reason: FinishReason, ms: number): void;
  /** A batch was committed. */
  committed(events: number, ms: number): void;
  /** Something arrived too late and was dropped. */
  dropped(what: "late_event" | "late_result"): void;
  /** A fault that is not reported to any caller; `detail` is only for our log. */
  fault(message: string, detail?: unknown): void;
}
