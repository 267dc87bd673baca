import type { EventObject } from "xstate";
import type { RunId } from "../../protocol/ids.ts";
import type { ActorSystem, ActorTree, RunEvent } from "./actor-system.ts";
import type { HandlerParent } from "./handler-actor.ts";
import { LiveActor } from "./live-actor.ts";
import type { LifecycleState, RunFacts, RunSnapshot } from "./run-snapshot.ts";

/** What changes the phase of a run: a turn starts, waits for input, is held, continues or ends; the run is passivated. */
export type LifecycleEvent = "start" | "wait" | "hold" | "continue" | "end" | "close";

/** The next state for each event in each state. Other events change nothing. */
export const TRANSITIONS: Readonly<
  Record<LifecycleState, { readonly [Event in LifecycleEvent]?: LifecycleState }>
> = {
  idle: { start: "running", close: "closed" },
  running: { wait: "waiting", hold: "held", end: "idle", close: "closed" },
  waiting: { continue: "running", hold: "held", end: "idle", close: "closed" },
  held: { continue: "running", end: "idle", close: "closed" },
  closed: {},
};

/** The owner of a run's state. */
export interface RunStateOwner {
  readonly lifecycle: LifecycleState;
  readonly facts: RunFacts;
}

/**
 * A run as an actor of XState: its mailbox has the messages of the run, and its snapshot is the state of the run. It ends when
 * the run is passivated.
 */
export class RunActor extends LiveActor<RunSnapshot> implements HandlerParent {
  readonly #owner: RunStateOwner;
  /** The handler of its turn, while it runs. */
  #turn: ActorTree | undefined;

  constructor(system: ActorSystem, runId: RunId, owner: RunStateOwner) {
    super(system, { parent: system.root, id: runId });
    this.#owner = owner;
    this.begin();
  }

  get src(): string {
    return "run";
  }

  get systemId(): string {
    return this.id;
  }

  get logic(): { readonly config: object } {
    return LOGIC;
  }

  get children(): readonly ActorTree[] {
    return this.#turn === undefined ? [] : [this.#turn];
  }

  started(turn: ActorTree): void {
    this.#turn = turn;
  }

  ended(turn: ActorTree): void {
    if (this.#turn === turn) this.#turn = undefined;
  }

  /** Puts a message of the run into the mailbox; resolves with its reply. */
  deliver<Reply>(type: string, process: () => Promise<Reply>): Promise<Reply> {
    if (this.hasEnded) return process();
    if (this.isInspected || this.isProcessing) {
      const delivery = new Delivery(type, process);
      this.send(delivery);
      return delivery.reply;
    }
    const reply = this.process(process);
    this.changed(PROCESSED);
    return reply;
  }

  /** The run has another phase. */
  entered(event: LifecycleEvent): void {
    if (this.hasEnded) return;
    if (event === "close") this.end(CHANGES.close);
    else this.changed(CHANGES[event]);
  }

  protected show(): RunSnapshot {
    const { lifecycle: value, facts: context } = this.#owner;
    return {
      status: value === "closed" ? "done" : "active",
      output: undefined,
      error: undefined,
      value,
      context,
    };
  }

  protected receive(event: unknown): void {
    if (event instanceof Delivery) {
      event.process();
      this.changed(event);
    } else if (isSent(event)) this.system.sent(this.id, event);
  }
}

/** A message of a run in the mailbox of its actor. What it carries is not shown: it may be secret. */
class Delivery<Reply = unknown> {
  readonly type: string;
  readonly #process: () => Promise<Reply>;
  #reply: Promise<Reply> | undefined;
  #begin: ((reply: Promise<Reply>) => void) | undefined;

  constructor(type: string, process: () => Promise<Reply>) {
    this.type = type;
    this.#process = process;
  }

  /** The reply; the message may have to wait for another one to be processed. */
  get reply(): Promise<Reply> {
    return (this.#reply ??= new Promise((resolve) => {
      this.#begin = resolve;
    }));
  }

  process(): void {
    const reply = this.#process();
    if (this.#begin) this.#begin(reply);
    else this.#reply = reply;
  }
}

/** The events of a run's chart, as inspectors see them. */
const CHANGES: Readonly<Record<LifecycleEvent, EventObject>> = {
  start: { type: "start" },
  wait: { type: "wait" },
  hold: { type: "hold" },
  continue: { type: "continue" },
  end: { type: "end" },
  close: { type: "close" },
};

const PROCESSED: EventObject = { type: "processed" };

/** Whether an event was sent by a program, and not by XState: those of XState report the end of a child. */
function isSent(event: unknown): event is RunEvent {
  const { type } = Object(event) as { readonly type?: unknown };
  return typeof type === "string" && !type.startsWith("xstate.");
}

const LOGIC = {
  config: {
    id: "run",
    initial: "idle",
    states: Object.fromEntries(
      Object.entries(TRANSITIONS).map(([state, on]) => [
        state,
        state === "closed" ? { type: "final" } : { on },
      ]),
    ),
  },
};
