import type { CallView, RunView, TurnView } from "../../view/run-view.ts";
import type { Usage } from "../../protocol/events/outcome-codes.ts";
import { costText } from "../../view/cost-text.ts";
import type { StateName } from "../parts/state.tsx";
import { duration, momentTime } from "../parts/time.ts";

/** A state as a sign shows it, with a word instead of the usual one. */
export interface ShownState {
  readonly name: StateName;
  readonly word?: string;
}

/** The state of a run: that of its newest turn. */
export function stateOfRun(view: RunView): ShownState | undefined {
  const turn = view.turns.findLast(({ phase }) => phase !== "ended") ?? view.turns.at(-1);
  return turn && stateOfTurn(turn, view);
}

/** The state of a turn: what it does now, or how it ended. */
export function stateOfTurn(turn: TurnView, { calls }: Pick<RunView, "calls">): ShownState {
  if (turn.held) return { name: "held", word: `held: ${turn.held.code}` };
  if (turn.cancelingSince !== undefined) return { name: "running", word: "canceling" };
  switch (turn.phase) {
    case "running":
      return turn.restarted
        ? { name: "running", word: `running, restarted ${turn.restarted.times}×` }
        : { name: "running" };
    case "waiting":
      return { name: "waiting" };
    case "sleeping": {
      const [first] = turn.open.sleeps
        .map((key) => calls.get(key))
        .sort((a, b) => ((a?.until ?? "") < (b?.until ?? "") ? -1 : 1));
      return first === undefined ? { name: "sleeping" } : toRest(first);
    }
    case "ended":
      return toEnd(turn.outcome, turn.error?.code);
    default: {
      const never: never = turn.phase;
      return never;
    }
  }
}

/** The state of a call: while it is open, that of its open calls. */
export function stateOfCall(call: CallView, view: Pick<RunView, "calls">): ShownState {
  const { outcome, errorCode, kind, children } = call;
  if (outcome !== undefined) return toEnd(outcome, errorCode);
  if (kind === "wait") return { name: "waiting" };
  if (kind === "sleep" || call.until !== undefined) return toRest(call);
  const open = children
    .flatMap((key) => view.calls.get(key) ?? [])
    .filter((child) => child.outcome === undefined);
  const names = open.map((child) => stateOfCall(child, view).name);
  if (names.length === 0 || names.includes("running")) return { name: "running" };
  return { name: names.includes("waiting") ? "waiting" : "sleeping" };
}

/** How long a call took; until now if it is open. */
export function callMs({ startedAt, endedAt }: CallView, now: number): number {
  return Math.max(0, (endedAt === undefined ? now : Date.parse(endedAt)) - Date.parse(startedAt));
}

/** Where the time of a turn or of a run went, never as one sum: `worked 1.2 s, waited 11 min`. */
export function timesText({ times }: Pick<TurnView, "times">): string {
  const parts = [
    ["worked", times.workedMs],
    ["waited", times.waitedMs],
    ["slept", times.sleptMs],
    ["queued", times.queuedMs],
  ] as const;
  return parts
    .filter(([name, ms]) => name === "worked" || ms >= 1)
    .map(([name, ms]) => `${name} ${duration(ms)}`)
    .join(", ");
}

/** The tokens that went into and came out of models; empty if there were none. */
export function usageText(usage: Usage): string {
  const { input_tokens: into, output_tokens: out } = usage;
  if (into === undefined && out === undefined) return "";
  return `${into ?? 0} + ${out ?? 0} tokens, cost ${costText(usage)}`;
}

/** The state of a sleep, or of a completion whose model is away. */
function toRest({ kind, name, until }: CallView): ShownState {
  if (!until) return { name: "sleeping" };
  const what = kind === "sleep" ? "sleeping until" : `${name} is away, next try`;
  return { name: "sleeping", word: `${what} ${momentTime(until)}` };
}

function toEnd(outcome: TurnView["outcome"], code: string | undefined): ShownState {
  switch (outcome) {
    case "success":
      return { name: "done" };
    case "canceled":
      return { name: "canceled" };
    case "error":
      return { name: "failed", ...(code !== undefined && { word: code }) };
    case undefined:
      return { name: "running" };
    default: {
      const never: never = outcome;
      return never;
    }
  }
}
