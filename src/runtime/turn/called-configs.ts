import type { JsonObject } from "../../protocol/json.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { Agent } from "../agent/agent.ts";
import type { Recorder } from "../journal/recorder.ts";
import type { TurnJournal } from "../replay/turn-journal.ts";
import type { RunContext } from "../run-context.ts";
import { LazyMap } from "../lazy.ts";

/** A call of an agent, made for the first time or again after a crash. */
export interface CalledAgent {
  readonly agent: Agent;
  readonly callId: CallId;
  /** Whether the log has it already. */
  readonly logged: boolean;
}

/** The configurations of called agents, each as it was at the time of the call. */
export class CalledConfigs {
  readonly #context: RunContext;
  readonly #journal: TurnJournal;
  readonly #recorder: Recorder;
  /** The newest recorded configuration of each agent. A call with the same one records no copy. */
  readonly #written = new LazyMap<string, JsonObject>();

  constructor(context: RunContext, journal: TurnJournal, recorder: Recorder) {
    this.#context = context;
    this.#journal = journal;
    this.#recorder = recorder;
  }

  /** The configuration of an agent for one call: read from the log on replay, else recorded with the call. */
  of({ agent, callId, logged }: CalledAgent): JsonObject {
    const args = logged ? this.#journal.configs.get(callId) : this.#currentOf(agent);
    if (args === undefined) return NOT_CONFIGURED;
    if (!logged) {
      const { name } = agent;
      const isKnown = this.#written.get(name) === args;
      this.#written.set(name, args);
      this.#recorder.record({ type: "Configured", call_id: callId, agent: name, ...(!isKnown && { args }) });
    }
    return this.#context.secrets.reveal(args);
  }

  /** The current configuration of an agent. A different agent with the name of a served one has none. */
  #currentOf(agent: Agent): JsonObject | undefined {
    const { agents } = this.#context;
    return agents.find(agent.name) === agent ? agents.configOf(agent.name) : undefined;
  }
}

const NOT_CONFIGURED: JsonObject = {};
