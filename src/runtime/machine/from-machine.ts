import type { AnyStateMachine } from "xstate";
import type { JsonObject } from "../../protocol/json.ts";
import type { Agent, Effect, Operation, Schema } from "../agent/agent.ts";
import { CHAT } from "../agent/agent.ts";
import { chatInput, defineAgent } from "../agent/define.ts";
import { runMachine } from "./machine-actor.ts";

/** What `fromMachine` takes. */
export interface MachineOptions {
  readonly name: string;
  readonly purpose: string;
  readonly version?: string;
  readonly compatible?: readonly string[];
  readonly machine: AnyStateMachine;
  /** What it can be asked for beside a chat; an operation arrives as the event of its name with its input. */
  readonly operations?: { readonly [name: string]: MachineOperation };
  /**
   * Whether promise actors that the machine invokes may run again after a crash in mid-call.
   * Default `unsafe`: they then end with an error, for which the machine has `onError`.
   */
  readonly effect?: Effect;
}

/** One thing a machine can be asked for. */
export interface MachineOperation {
  readonly description?: string;
  readonly input: Schema<unknown>;
  readonly output?: Schema<unknown>;
}

/**
 * Makes an agent of an XState machine. An operation arrives as the event `{type: <operation>, ...input}`,
 * a chat as the operation that the text names, or as `{type: "chat", input}`. A state with the tag
 * `wait` and `meta.request_keys` asks the caller, whose answer arrives as `{type: "resume", ...values}`.
 * Emitted `{type: "TextOutput", content}` are the agent's texts. The turn ends when the machine is done,
 * or rests with nothing under way; in that case the next turn of the run goes on from there.
 *
 * After every transition the machine's state is in the log together with what the transition said, so
 * that a crash costs nothing: delays go on, waits stay open, and promises that were invoked are not
 * started twice. Callbacks, observables and child machines are restored as XState restores them.
 */
export function fromMachine({
  machine,
  operations = {},
  effect = "unsafe",
  ...options
}: MachineOptions): Agent {
  const declared = Object.entries(operations).map(([name, operation]): [string, Operation] => [
    name,
    {
      description: "",
      ...operation,
      run: (input, turn) =>
        runMachine(turn, { machine, effect, event: { ...(input as JsonObject), type: name } }),
    },
  ]);
  const chat: Operation = {
    description: options.purpose,
    input: chatInput,
    async run(asked, turn) {
      const { input } = asked as { readonly input: string };
      const event = Object.hasOwn(operations, input.trim()) ? { type: input.trim() } : { type: CHAT, input };
      return runMachine(turn, { machine, effect, event });
    },
  };
  return defineAgent({
    ...options,
    operations: { chat, ...Object.fromEntries(declared) },
  });
}
