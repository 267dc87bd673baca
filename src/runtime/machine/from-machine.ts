import type {
  AnyActorLogic,
  AnyMachineSnapshot,
  AnyStateMachine,
  EventFromLogic,
  SnapshotFrom,
} from "xstate";
import { AgentError } from "../../errors.ts";
import { isObject } from "../../protocol/json.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { ReadHandle } from "../actor/read.ts";
import type {
  Agent,
  AgentOptions,
  ChatInput,
  ChatOperations,
  Collaborators,
  Effect,
  MachineOperation,
  Messages,
  Operation,
  Operations,
} from "../agent/agent.ts";
import { TurnHandle } from "../actor/turn-handle.ts";
import { CHAT } from "../agent/agent.ts";
import { markAgent } from "../agent/definition/check-definition.ts";
import { defineAgent } from "../agent/definition/define.ts";
import { chatInput, operation } from "../agent/definition/definition.ts";
import type { FittingSchedules, ScheduledOperations } from "../agent/definition/schedule.ts";
import { anyObject } from "../agent/definition/handwritten-schema.ts";
import type { AgentMachine } from "../agent/machine-port.ts";
import type { MessageBody, ReadTurn, Turn } from "../agent/turn-api.ts";
import type { MachineState } from "../journal/records.ts";
import { callOf } from "./actors.ts";
import { toCharts, toStatechart } from "./chart/chart.ts";
import { checkMachine } from "./copies.ts";
import { JournaledMachine } from "./journaled-logic.ts";
import { runMachine } from "./machine-actor.ts";
import { toMachineEvent, toOperationEvent } from "./machine-input.ts";
import type { MachineRun } from "./machine-input.ts";
import { shapeOf, toFitting } from "./stored-state.ts";
import type { MachineMigrations } from "./stored-state.ts";
import { checkTakenWhenStopped, snapshotOf } from "./takes.ts";

/**
 * What `fromMachine` takes: a machine, how it is called as an agent, and what `defineAgent` takes besides handlers. What the
 * agent keeps in a run is the state of the machine, so it has no `memorySchema`.
 */
export interface MachineOptions<
  Events extends MachineOperations = MachineOperations,
  Views extends MachineViews = MachineViews,
  Machine extends AnyStateMachine = AnyStateMachine,
  Config = JsonObject,
  Accepted extends Messages = Messages,
> extends Omit<
  AgentOptions<Operations, Collaborators, Config>,
  "chat" | "operations" | "messages" | "memorySchema"
> {
  readonly machine: Machine;
  /**
   * Brings states that other versions of the machine have logged to this one, by their version. A function gets the snapshot as
   * `getPersistedSnapshot` has made it and returns the one to continue from. The turns of these versions are continued.
   */
  readonly migrate?: MachineMigrations;
  /**
   * Its operations besides chat; a call of one sends the event of that name with the input. If the machine declares the types
   * of its events, each operation is one of them, and its schema gives the fields of that event; without a schema, callers give
   * these fields.
   */
  readonly operations?: Events;
  /**
   * The messages that its runs accept, by name, with the schema of the body. A message is the event of its name with the fields of
   * the body; a body that is no object is the field `body`. The machine takes it as soon as a state has a transition for it; until
   * then it stays unread, behind the operation that a turn begins with. A message starts no turn and keeps none open.
   */
  readonly messages?: Accepted;
  /**
   * Operations that only read, by name: each gets the machine's snapshot as it is committed, beside whatever the machine does
   * or waits for. They send no event and are not in the log.
   */
  readonly reads?: { readonly [Name in keyof Views]: (snapshot: SnapshotFrom<Machine>) => Views[Name] };
  /**
   * Actors that the machine invokes or spawns by these names, besides those of its own: `agentActor`, `toolActor`,
   * `askActor` and `modelActor`. Their calls are logged under these names; the runtime option `bind` can replace their agents.
   */
  readonly actors?: { readonly [src: string]: AnyActorLogic };
  /**
   * Runs when a turn of the machine is canceled, fails or exceeds its time, as a cleanup step: with the machine's newest
   * recorded snapshot, and a turn that can call, ask and tell.
   */
  readonly cleanup?: (snapshot: SnapshotFrom<Machine>, turn: Turn) => unknown;
  /** The result of a turn, from the snapshot at its end; default: the machine's output. */
  readonly output?: (snapshot: SnapshotFrom<Machine>) => unknown;
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
export type EventOperations<
  Events extends MachineOperations,
  Machine extends AnyStateMachine = AnyStateMachine,
> = {
  readonly [Name in keyof Events]: Events[Name] extends MachineOperation<infer Input, infer Output>
    ? Operation<[keyof Input] extends [never] ? EventFields<Machine, Name> : Input, Output>
    : never;
};

/** The fields of an event that callers give. */
type EventFields<Machine extends AnyStateMachine, Name> = string extends EventFromLogic<Machine>["type"]
  ? object
  : Omit<Extract<EventFromLogic<Machine>, { readonly type: Name }>, "turn" | "type">;

/** The same fields, of which those that can be absent can also be `undefined`, as most schemas have it. */
type OptionalFields<Fields> = {
  readonly [Key in keyof Fields]: Record<never, never> extends Pick<Fields, Key>
    ? Fields[Key] | undefined
    : Fields[Key];
};

/** What the operations of a machine must be, so that each is an event that the machine declares. */
export type FittingEvents<Machine extends AnyStateMachine, Events extends MachineOperations> = {
  readonly [Name in keyof Events]: string extends EventFromLogic<Machine>["type"]
    ? unknown
    : Name extends EventFromLogic<Machine>["type"]
      ? Events[Name] extends MachineOperation<infer Input, infer _, infer Parsed>
        ? [keyof Input] extends [never]
          ? unknown
          : Parsed extends OptionalFields<EventFields<Machine, Name>>
            ? unknown
            : { readonly input: FieldsOfEvent<Name, EventFields<Machine, Name>> }
        : never
      : NoSuchEvent<EventFromLogic<Machine>["type"]>;
};

/** What the messages of a machine must be, so that each is an event that the machine declares. */
export type FittingMessages<Machine extends AnyStateMachine, Accepted extends Messages> = {
  readonly [Name in keyof Accepted]: string extends EventFromLogic<Machine>["type"]
    ? unknown
    : Name extends EventFromLogic<Machine>["type"]
      ? FieldsOfBody<MessageBody<Accepted[Name]>> extends OptionalFields<EventFields<Machine, Name>>
        ? unknown
        : FieldsOfEvent<Name, EventFields<Machine, Name>>
      : NoSuchEvent<EventFromLogic<Machine>["type"]>;
};

/** The fields that the body of a message gives its event. */
type FieldsOfBody<Body> = Body extends null | undefined
  ? Record<never, never>
  : Body extends readonly unknown[] | string | number | boolean
    ? { readonly body: Body }
    : Body;

/** What stands in the error of the compiler for an operation or a message that is no event of the machine. */
export interface NoSuchEvent<Known> {
  readonly known: Known;
}

/** What stands in the error of the compiler for a schema that does not give the fields of its event. */
export interface FieldsOfEvent<Name, Fields> {
  readonly event: Name;
  readonly fields: Fields;
}

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
  Machine extends AnyStateMachine = AnyStateMachine,
  Config = JsonObject,
  const Schedules extends ScheduledOperations = Record<never, never>,
  const Accepted extends Messages = Record<never, never>,
>({
  machine: given,
  operations,
  reads,
  actors = {},
  effect = "unsafe",
  output,
  cleanup,
  migrate = {},
  uses,
  schedules,
  ...options
}: MachineOptions<Events, Views, Machine, Config, Accepted> & {
  readonly messages?: FittingMessages<Machine, Accepted>;
  readonly operations?: FittingEvents<Machine, Events>;
  readonly schedules?: Schedules;
} & {
  readonly schedules?: FittingSchedules<MachineOwnOperations<Events, Views, Machine>, Schedules>;
}): Agent<MachineOwnOperations<Events, Views, Machine> & ChatOperations, Accepted> {
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
  const result = output as MachineRun["output"];
  const run = { machine, journaled, effect, output: result, charts, facts, shape, version, migrate };
  const declared = Object.entries(events).map(([name, event]): [string, Operation] => [
    name,
    {
      description: "",
      input: anyObject,
      ...event,
      run: (input, turn) => runMachine(turn, { ...run, event: toMachineEvent(name, input, turn) }),
    },
  ]);
  const readers = (reads ?? {}) as {
    readonly [name: string]: (snapshot: AnyMachineSnapshot) => unknown;
  };
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
  const times: ScheduledOperations | undefined = schedules;
  const agent = defineAgent({
    ...(options as Omit<typeof options, "schedules">),
    ...(times && { schedules: times }),
    compatible: [...new Set([...compatible, ...Object.keys(migrate)])],
    operations: { chat, ...Object.fromEntries(declared), ...Object.fromEntries(views) },
    uses: { ...uses, ...agentsOf(machine) },
  });
  const check: AgentMachine["check"] = (asked, kept) =>
    checkTakenWhenStopped(run, toOperationEvent(asked, asked.request.input), kept);
  const clean =
    cleanup &&
    ((recorded: object, turn: Turn): unknown => {
      const state = recorded as MachineState;
      const { actor, scope } = TurnHandle.place(turn);
      const { misfit } = toFitting(run, state);
      if (misfit === undefined)
        return cleanup(snapshotOf(run, { open: state }, { type: CHAT }) as SnapshotFrom<Machine>, turn);
      actor.turn.hold({ ...misfit, scope: scope.path });
      return actor.turn.over();
    });
  return markAgent({ ...agent, machine: { statechart, check, cleanup: clean } }) as unknown as Agent<
    MachineOwnOperations<Events, Views, Machine> & ChatOperations,
    Accepted
  >;
}

/** The operations of a machine's agent besides chat. */
type MachineOwnOperations<
  Events extends MachineOperations,
  Views extends MachineViews,
  Machine extends AnyStateMachine,
> = EventOperations<Events, Machine> & ViewOperations<Views>;

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
