import type { AnyActorLogic, AnyMachineSnapshot, AnyStateMachine } from "xstate";
import { AgentError } from "../../errors.ts";
import { isObject } from "../../protocol/json.ts";
import { ReadHandle } from "../actor/read.ts";
import type { Agent, ChatInput, Collaborators, Effect, MachineOperation, Operation } from "../agent/agent.ts";
import { CHAT } from "../agent/agent.ts";
import { markAgent } from "../agent/definition/check-definition.ts";
import { chatInput, defineAgent, operation } from "../agent/definition/define.ts";
import type { ChatOperations } from "../agent/definition/define.ts";
import type { MailboxOptions } from "../agent/definition/mailbox.ts";
import { anyObject } from "../agent/definition/handwritten-schema.ts";
import type { AgentMachine } from "../agent/machine-port.ts";
import type { ReadTurn } from "../agent/turn-api.ts";
import { callOf } from "./actors.ts";
import { toCharts, toStatechart } from "./chart/chart.ts";
import { checkMachine } from "./copies.ts";
import { JournaledMachine } from "./journaled-logic.ts";
import { runMachine } from "./machine-actor.ts";
import { toMachineEvent, toOperationEvent } from "./machine-input.ts";
import { shapeOf } from "./stored-state.ts";
import type { MachineMigrations } from "./stored-state.ts";
import { checkTakenWhenStopped, snapshotOf } from "./takes.ts";

/** What `fromMachine` takes: a machine, and how it is called as an agent. */
export interface MachineOptions<
  Events extends MachineOperations = MachineOperations,
  Views extends MachineViews = MachineViews,
> {
  readonly name: string;
  readonly purpose: string;
  readonly version?: string;
  readonly compatible?: readonly string[];
  readonly machine: AnyStateMachine;
  /**
   * Brings states that other versions of the machine have logged to this one, by their version. A function gets the snapshot as
   * `getPersistedSnapshot` has made it and returns the one to continue from. The turns of these versions are continued.
   */
  readonly migrate?: MachineMigrations;
  /** Its operations besides chat; a call of one sends the event of that name with the input. */
  readonly operations?: Events;
  /**
   * Operations that only read, by name: each gets the machine's snapshot as it is committed, beside whatever the machine does
   * or waits for. They send no event and are not in the log.
   */
  readonly reads?: { readonly [Name in keyof Views]: (snapshot: AnyMachineSnapshot) => Views[Name] };
  /**
   * Actors that the machine invokes or spawns by these names, besides those of its own: `agentActor`, `toolActor`,
   * `askActor` and `modelActor`. Their calls are logged under these names; the runtime option `bind` can replace their agents.
   */
  readonly actors?: { readonly [src: string]: AnyActorLogic };
  /** How requests wait for its actors, and for a machine that does not take them in its turn. */
  readonly mailbox?: MailboxOptions;
  /** The result of a turn, from the snapshot at its end; default: the machine's output. */
  readonly output?: (snapshot: AnyMachineSnapshot) => unknown;
  /**
   * Whether promise actors that the machine invokes may run again after a crash during the call. Default
   * `unsafe`: they end with an error, which the machine can handle in `onError`.
   */
  readonly effect?: Effect;
}

/** The operations of a machine by name. */
export type MachineOperations = { readonly [name: string]: MachineOperation };

/** What the operations of a machine that only read give, by their names. */
export type MachineViews = { readonly [name: string]: unknown };

/** The operations of an agent that read its machine. */
export type ViewOperations<Views extends MachineViews> = {
  readonly [Name in keyof Views]: Operation<object, Awaited<Views[Name]>>;
};

/** The operations of an agent, from those of its machine. */
export type EventOperations<Events extends MachineOperations> = {
  readonly [Name in keyof Events]: Events[Name] extends MachineOperation<infer Input, infer Output>
    ? Operation<Input, Output>
    : never;
};

/**
 * Makes an agent from an XState machine. An operation becomes the event `{type: <operation>, ...input, turn}`. A
 * chat becomes the operation that the text names, or `{type: "chat", input, turn}`. A state with the tag `wait` and
 * `meta.request_keys` asks the caller, whose answer becomes `{type: "resume", ...values}`. Emitted
 * `{type: "TextOutput", content}` are the agent's texts. The turn ends when the machine is done, or when
 * nothing is running in it; then the next turn of the run continues from that state.
 *
 * After every transition the machine's state is committed together with the transition's events, so that a
 * crash loses nothing: delays continue, waits stay open, and invoked actors continue or are not started twice, also
 * those of machines inside the machine. Callbacks and observables are restored as XState restores them.
 */
export function fromMachine<
  const Events extends MachineOperations = Record<never, never>,
  Views extends MachineViews = Record<never, never>,
>({
  machine: given,
  operations,
  reads,
  actors = {},
  effect = "unsafe",
  output,
  migrate = {},
  ...options
}: MachineOptions<Events, Views>): Agent<EventOperations<Events> & ViewOperations<Views> & ChatOperations> {
  checkMachine(options.name, given);
  checkMigrations(options, migrate);
  const machine = given.provide({ actors }) as AnyStateMachine;
  const events: MachineOperations = operations ?? {};
  const charts = toCharts(options.name, machine);
  for (const inside of charts.keys()) checkMachine(options.name, inside);
  const statechart = toStatechart(charts);
  const facts = { name: options.name, statechart, operations: [CHAT, ...Object.keys(events)] };
  const journaled = new JournaledMachine(machine);
  const shape = shapeOf(machine, statechart.hash);
  const { version, compatible = [] } = options;
  const run = { machine, journaled, effect, output, charts, facts, shape, version, migrate };
  const declared = Object.entries(events).map(([name, event]): [string, Operation] => [
    name,
    {
      description: "",
      input: anyObject,
      ...event,
      run: (input, turn) => runMachine(turn, { ...run, event: toMachineEvent(name, input, turn) }),
    },
  ]);
  const readers: { readonly [name: string]: (snapshot: AnyMachineSnapshot) => unknown } = reads ?? {};
  const views = Object.entries(readers).map(([name, view]): [string, Operation] => {
    if (name === CHAT || Object.hasOwn(events, name))
      throw new AgentError(
        "invalid_request",
        `agent ${options.name} has two operations with the name ${name}; rename the one in reads`,
      );
    const read = (_input: unknown, turn: ReadTurn): unknown =>
      view(snapshotOf(run, ReadHandle.machineOf(turn), { type: name }));
    return [name, operation({ read: true, input: anyObject, run: read })];
  });
  const chat: Operation<ChatInput> = {
    description: options.purpose,
    input: chatInput,
    async run(asked, turn) {
      const { input } = asked as ChatInput;
      const name = input.trim();
      const event = Object.hasOwn(events, name)
        ? toMachineEvent(name, {}, turn)
        : toMachineEvent(CHAT, { input }, turn);
      return runMachine(turn, { ...run, event });
    },
  };
  const agent = defineAgent({
    ...options,
    compatible: [...new Set([...compatible, ...Object.keys(migrate)])],
    operations: { chat, ...Object.fromEntries(declared), ...Object.fromEntries(views) },
    uses: agentsOf(machine),
  });
  const check: AgentMachine["check"] = (asked, kept) =>
    checkTakenWhenStopped(run, toOperationEvent(asked, asked.request.input), kept);
  return markAgent({ ...agent, machine: { statechart, check } }) as unknown as Agent<
    EventOperations<Events> & ViewOperations<Views> & ChatOperations
  >;
}

function checkMigrations(
  { name, version }: { readonly name: string; readonly version?: string },
  migrate: unknown,
): void {
  const functions: readonly unknown[] = isObject(migrate) ? Object.values(migrate) : [migrate];
  const wrong = functions.some((migration) => typeof migration !== "function");
  const what = wrong ? "has a function for each version" : "needs a version of the machine";
  if (!wrong && (version !== undefined || functions.length === 0)) return;
  throw new AgentError("invalid_request", `migrate of agent ${name} ${what}`);
}

/** The agents and tools that a machine's actors call, by the names of the actors. */
function agentsOf(machine: AnyStateMachine): Collaborators {
  const actors = Object.entries(machine.implementations.actors as { readonly [src: string]: AnyActorLogic });
  return Object.fromEntries(
    actors.flatMap(([src, logic]) => {
      const call = callOf(logic);
      return call?.kind === "agent" ? [[src, call.agent] as const] : [];
    }),
  );
}
