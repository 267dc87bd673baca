import type { Agent } from "troupe";
import type { Event } from "troupe/protocol";
import { asked, chat, TestHost } from "../test-host.ts";

/** A chat that is run through crashes. */
export interface Crashing {
  readonly agents: readonly Agent[];
  /** The agent that gets the chat. */
  readonly to: string;
  readonly input?: string;
  /** How far the clock is advanced at once, and how often. A crashed process restarts before each step. */
  readonly stepMs: number;
  readonly steps: number;
}

/** Runs a chat once undisturbed, then with a crash at each of its commits; the result is the events of each run. */
export async function atEveryCrash(
  crashing: Crashing,
): Promise<readonly { readonly place: string; readonly events: readonly Event[] }[]> {
  const { agents } = crashing;
  const whole = new TestHost({ agents });
  const runs = [{ place: "undisturbed", events: await play(whole, crashing) }];
  for (let commit = 2; commit <= whole.commits; commit += 1) {
    for (const written of [true, false]) {
      const host = new TestHost({ agents, commitFaults: [{ commit, kind: "crash", written }] });
      const place = `crash at commit ${commit}, ${written ? "" : "not "}written`;
      runs.push({ place, events: await play(host, crashing) });
    }
  }
  return runs;
}

async function play(host: TestHost, { to, input = "", stepMs, steps }: Crashing): Promise<readonly Event[]> {
  await host.ask(to, { ...chat, input }).catch(() => {});
  for (let step = 0; step < steps; step += 1) {
    if (host.crashed) await host.restart();
    await host.environment.advance(stepMs);
  }
  return host.events(asked);
}
