import { setTimeout as pause } from "node:timers/promises";
import { createRuntime } from "troupe";
import type { EventLog } from "troupe";
import { steps, walker } from "./agents.ts";

/** How a heart has beaten that is due every 100 ms. */
export interface Heartbeats {
  readonly beats: number;
  /** The beats that the actor remembers. */
  readonly remembered: number;
  /** The longest time between two beats, restarts included, in milliseconds. */
  readonly longestMs: number;
}

/** Has a heart beat for a time by the real clock; its process ends and begins again in the middle. */
export async function beatFor(open: () => EventLog, ms: number): Promise<Heartbeats> {
  let beats = 0;
  let longestMs = 0;
  let last = performance.now();
  steps.listener = (step) => {
    const now = performance.now();
    longestMs = Math.max(longestMs, now - last);
    last = now;
    beats = Math.max(beats, step);
  };
  const actor = { key: "heart" };
  const first = createRuntime({ agents: [walker], log: open() });
  await first.ask(walker, "beat", { to: 1_000_000 }, actor);
  await pause(ms / 2);
  await first.close();
  const second = createRuntime({ agents: [walker], log: open() });
  await pause(ms / 2);
  const remembered = await second.ask(walker, "where", {}, actor);
  await second.close();
  longestMs = Math.max(longestMs, performance.now() - last);
  return { beats, remembered, longestMs: Math.round(longestMs) };
}
