import type { RunId } from "../../../protocol/ids.ts";
import type { Json } from "../../../protocol/json.ts";
import { AgentError } from "../../../errors.ts";
import type { Agent, Operation } from "../agent.ts";
import { defineAgent } from "./define.ts";
import { handwrittenSchema } from "./handwritten-schema.ts";

/** The name of the agent that sends requests at a time. It is served, but not in the list of agents. */
export const TIMER_AGENT = "troupe-timer";

/** A request or a message that is sent at a time. */
export interface TimedRequest {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly agent: string;
  readonly key?: string;
  readonly run_id?: RunId;
  /** The name of an operation or of a message. */
  readonly operation: string;
  readonly input: Json;
}

/** The agent that sends requests at a time: one run for each, whose turn sleeps until then. */
export type TimerAgent = Agent<{ readonly send: Operation<TimedRequest, null> }>;

/** Makes the agent; `find` finds the agents that the runtime serves. */
export function createTimerAgent(find: (name: string) => Agent | undefined): TimerAgent {
  const send: Operation<TimedRequest, null> = {
    description: "Waits until a time and sends a request to an actor.",
    // Only `turn.schedule` makes such requests.
    input: handwrittenSchema<TimedRequest, TimedRequest>((value) =>
      isTimedRequest(value) ? { value } : { issues: [{ message: "is not a request of turn.schedule" }] },
    ),
    async run(given, turn) {
      const { at, agent, key, run_id: runId, operation, input } = given as TimedRequest;
      const ms = at - turn.now();
      if (ms > 0) await turn.sleep(ms);
      const served = find(agent);
      if (served === undefined) throw new AgentError("not_found", `there is no agent ${agent}`);
      const place = key ?? { agent, run_id: runId ?? "" };
      await turn.tell(turn.actor(served, place), operation, input);
      return null;
    },
  };
  return defineAgent({
    name: TIMER_AGENT,
    purpose: "Sends requests of other agents at a time.",
    operations: { send },
  }) as Agent as TimerAgent;
}

function isTimedRequest(value: unknown): value is TimedRequest {
  const { at, agent, key, run_id: runId, operation } = Object(value) as Partial<Record<string, unknown>>;
  const isPlace = typeof key === "string" || typeof runId === "string";
  return Number.isFinite(at) && typeof agent === "string" && isPlace && typeof operation === "string";
}
