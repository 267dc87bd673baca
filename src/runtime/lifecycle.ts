import { createActor, setup } from "xstate";

/** What a run is doing. */
export type LifecycleState = "idle" | "working" | "waiting" | "closed";

/** What changes it: a turn starts, has nothing open but waits, goes on, or ends; the run is let go. */
export type LifecycleEvent = "start" | "park" | "unpark" | "end" | "close";

/** The statechart of one run. */
export interface Lifecycle {
  readonly state: LifecycleState;
  send(event: LifecycleEvent): void;
}

/** Starts the statechart of a run. `failed` hears of an error in it, which would otherwise end the process. */
export function createLifecycle(failed: (error: unknown) => void): Lifecycle {
  const actor = createActor(machine);
  actor.subscribe({ error: failed });
  actor.start();
  return {
    get state() {
      const { value } = actor.getSnapshot();
      return typeof value === "string" ? value : value.turn;
    },
    send: (type) => actor.send({ type }),
  };
}

const machine = setup({ types: { events: {} as { type: LifecycleEvent } } }).createMachine({
  id: "run",
  initial: "idle",
  options: { maxIterations: 1_000 },
  states: {
    idle: { on: { start: "turn" } },
    turn: {
      initial: "working",
      states: {
        working: { on: { park: "waiting" } },
        waiting: { on: { unpark: "working" } },
      },
      on: { end: "idle" },
    },
    closed: { type: "final" },
  },
  on: { close: ".closed" },
});
