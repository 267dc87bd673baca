/**
 * What runs and what is open in a turn, counted by the parts that know it: its activity, deliveries, call tree and parked calls.
 * Whether the turn works, is suspended or parked follows from these numbers alone, so that it can be asked after each
 * step of a turn with thousands of calls.
 */
export interface TurnCounts {
  /** The sequences whose code can make progress. */
  active: number;
  /** The deliveries that wait for their turn. */
  queued: number;
  /** The deliveries whose commit is pending. */
  uncommitted: number;
  /** The calls during which the time of the turn runs. */
  working: number;
  /** Those of them that run code in this process. */
  running: number;
  /** The calls that wait for something from outside the turn. */
  parked: number;
  /** Those of them that sleep. */
  sleeps: number;
  /** Those of them that wait for a message. */
  messages: number;
  /** Those of them, without waits for input, that were parked for long when they were parked or replayed. */
  long: number;
  /** The open waits for input. */
  waits: number;
  /** Those of them that the replayed code has not reached. */
  unreplayed: number;
}

/** The counts of a turn that has not begun. */
export function newCounts(): TurnCounts {
  return {
    active: 0,
    queued: 0,
    uncommitted: 0,
    working: 0,
    running: 0,
    parked: 0,
    sleeps: 0,
    messages: 0,
    long: 0,
    waits: 0,
    unreplayed: 0,
  };
}
