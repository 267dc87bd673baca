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

/** Has a heart beat a number of times by the real clock; its process ends and begins again in the middle. */
export async function beat(open: () => EventLog, times: number): Promise<Heartbeats> {
  let beats = 0;
  let longestMs = 0;
  let last = performance.now();
  const half = Promise.withResolvers<void>();
  const all = Promise.withResolvers<void>();
  steps.listener = (step) => {
    const now = performance.now();
    longestMs = Math.max(longestMs, now - last);
    last = now;
    beats = Math.max(beats, step);
    if (beats >= times / 2) half.resolve();
    if (beats >= times) all.resolve();
  };
  const actor = { key: "heart" };
  const first = createRuntime({ agents: [walker], log: open() });
  await first.ask(walker, "beat", { to: times }, actor);
  await half.promise;
  await first.close();
  const second = createRuntime({ agents: [walker], log: open() });
  await second.ready();
  await all.promise;
  const remembered = await second.ask(walker, "where", {}, actor);
  await second.close();
  longestMs = Math.max(longestMs, performance.now() - last);
  return { beats, remembered, longestMs: Math.round(longestMs) };
}
