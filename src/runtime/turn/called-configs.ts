import type { JsonObject } from "../../protocol/json.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { Agent } from "../agent/agent.ts";
import type { TurnOptions } from "./turn-options.ts";

/** A call of an agent, for the first time or again after a crash. */
export interface CalledAgent {
  readonly agent: Agent;
  readonly callId: CallId;
  /** Whether the log has it already. */
  readonly logged: boolean;
}

/** How the agents are configured that a turn calls, each as of its call. */
export class CalledConfigs {
  readonly #options: TurnOptions;
  /** What was written down last of each agent, which need not be repeated with every call. */
  readonly #written = new Map<string, JsonObject>();

  constructor(options: TurnOptions) {
    this.#options = options;
  }

  /** The configuration of an agent for one call of it, written down together with that; as the log has it if it was. */
  of({ agent, callId, logged }: CalledAgent): JsonObject {
    const { journal, recorder, configOf, reveal } = this.#options;
    const args = logged ? journal.configs.get(callId) : configOf(agent);
    if (args === undefined) return NOT_CONFIGURED;
    if (!logged) {
      const { name } = agent;
      const isKnown = this.#written.get(name) === args;
      this.#written.set(name, args);
      recorder.record({ type: "Configured", call_id: callId, agent: name, ...(!isKnown && { args }) });
    }
    return reveal(args);
  }
}

const NOT_CONFIGURED: JsonObject = {};
