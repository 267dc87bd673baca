import type { AnyStateMachine } from "xstate";
import type { JsonObject } from "../../protocol/json.ts";
import type { Agent, Effect, Operation, Schema } from "../agent/agent.ts";
import { CHAT } from "../agent/agent.ts";
import { chatInput, defineAgent } from "../agent/define.ts";
import { asAgent } from "../agent/check-definition.ts";
import { toChart } from "./chart.ts";
import { runMachine } from "./machine-actor.ts";

/** What `fromMachine` takes: a machine, and how it is called as an agent. */
export interface MachineOptions {
  readonly name: string;
  readonly purpose: string;
  readonly version?: string;
  readonly compatible?: readonly string[];
  readonly machine: AnyStateMachine;
  /** Its operations besides chat; a call of one sends the event of that name with the input. */
  readonly operations?: { readonly [name: string]: MachineOperation };
  /**
   * Whether promise actors that the machine invokes may run again after a crash during the call. Default
   * `unsafe`: they end with an error, which the machine can handle in `onError`.
   */
  readonly effect?: Effect;
}

/** An operation of a machine. */
export interface MachineOperation {
  readonly description?: string;
  readonly input: Schema<unknown>;
  readonly output?: Schema<unknown>;
}

/**
 * Makes an agent from an XState machine. An operation becomes the event `{type: <operation>, ...input}`. A
 * chat becomes the operation that the text names, or `{type: "chat", input}`. A state with the tag `wait` and
 * `meta.request_keys` asks the caller, whose answer becomes `{type: "resume", ...values}`. Emitted
 * `{type: "TextOutput", content}` are the agent's texts. The turn ends when the machine is done, or when
 * nothing is running in it; then the next turn of the run continues from that state.
 *
 * After every transition the machine's state is committed together with the transition's events, so that a
 * crash loses nothing: delays continue, waits stay open, and invoked promises are not started twice.
 * Callbacks, observables and child machines are restored as XState restores them.
 */
export function fromMachine({
  machine,
  operations = {},
  effect = "unsafe",
  ...options
}: MachineOptions): Agent {
  const run = { machine, effect, chart: toChart(options.name, machine) };
  const declared = Object.entries(operations).map(([name, operation]): [string, Operation] => [
    name,
    {
      description: "",
      ...operation,
      run: (input, turn) => runMachine(turn, { ...run, event: { ...(input as JsonObject), type: name } }),
    },
  ]);
  const chat: Operation = {
    description: options.purpose,
    input: chatInput,
    async run(asked, turn) {
      const { input } = asked as { readonly input: string };
      const event = Object.hasOwn(operations, input.trim()) ? { type: input.trim() } : { type: CHAT, input };
      return runMachine(turn, { ...run, event });
    },
  };
  const agent = defineAgent({ ...options, operations: { chat, ...Object.fromEntries(declared) } });
  return asAgent({ ...agent, statechart: run.chart.statechart });
}
