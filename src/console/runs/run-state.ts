import type { RunSummary } from "../../protocol/answers/status.ts";
import type { StateName } from "../parts/state.tsx";

/** A run's state as a sign shows it, with a word instead of the usual one. */
export interface ShownState {
  readonly name: StateName;
  readonly word?: string;
}

/** The state of a run in the list. */
export function stateOf(run: RunSummary): ShownState | undefined {
  switch (run.status) {
    case "running":
      return { name: "running" };
    case "waiting":
      return { name: "waiting" };
    case "idle":
      return endOf(run);
    default: {
      const never: never = run.status;
      return never;
    }
  }
}

/** How the newest turn ended; unknown for a run that has had none. */
function endOf({ last_turn: last }: RunSummary): ShownState | undefined {
  switch (last?.finish_reason) {
    case "success":
      return { name: "done" };
    case "canceled":
      return { name: "canceled" };
    case "error":
      return { name: "failed", ...(last?.error_code !== undefined && { word: last.error_code }) };
    case undefined:
      return undefined;
    default:
      return undefined;
  }
}

/** The time that the newest turn took; until now if it is open. */
export function lastTurnMs({ last_turn: last }: RunSummary, now: number): number | undefined {
  if (last === undefined) return undefined;
  const end = last.ended_at === undefined ? now : Date.parse(last.ended_at);
  return Math.max(0, end - Date.parse(last.started_at));
}

/** The first line of a run's first input, for the list. */
export function toGist(input: unknown): string {
  const text = typeof input === "string" ? input : (JSON.stringify(input) ?? "");
  return text.slice(0, 300);
}
