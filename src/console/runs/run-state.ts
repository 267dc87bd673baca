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
      return undefined;
    default: {
      const never: never = run.status;
      return never;
    }
  }
}

/** The first line of a run's first input, for the list. */
export function toGist(input: unknown): string {
  const text = typeof input === "string" ? input : (JSON.stringify(input) ?? "");
  return text.slice(0, 300);
}
