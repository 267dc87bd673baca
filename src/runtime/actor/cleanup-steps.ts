import { AgentError } from "../../errors.ts";
import { CLEANUP } from "../replay/signature.ts";
import type { CleanupStep } from "../turn/active-turn.ts";
import type { Sequence } from "./sequence.ts";

/** Maximum number of cleanup steps of a turn. */
const STEPS_LIMIT = 1_000;

/** Registers a step that runs when the turn does not succeed. */
export function registerCleanup(sequence: Sequence, step: CleanupStep): void {
  const { agent, depth, isCleanup, turn } = sequence.actor;
  if (typeof step !== "function") throw new TypeError("turn.cleanup needs a function");
  if (isCleanup) throw new AgentError("conflict", "a cleanup step cannot register another one");
  if (depth > 0)
    throw new AgentError(
      "conflict",
      `agent ${agent.name} was called by another agent; only the requested agent can use turn.cleanup: ask it in place of calling it`,
    );
  if (turn.cleanups.size >= STEPS_LIMIT)
    throw new AgentError("overloaded", `a turn can have at most ${STEPS_LIMIT} cleanup steps`);
  const made = sequence.begin(CLEANUP);
  if (made === undefined) return;
  const { callId, logged } = made;
  if (!logged) turn.recorder.record({ type: "Cleanup", call_id: callId });
  turn.cleanups.set(callId, step);
  turn.cleanupRegistered?.();
}
