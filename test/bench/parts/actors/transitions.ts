import { createRuntime, defineAgent, fromMachine } from "troupe";
import type { Agent, Runtime } from "troupe";
import { assign, createActor, setup as setupMachine } from "xstate";
import { atMost, microseconds } from "../../harness/result.ts";
import type { Result } from "../../harness/result.ts";
import type { Setup } from "../../harness/setup.ts";
import { median } from "../../harness/statistics.ts";

/** Transitions of one turn; a machine may take 1,000 without a pause. */
const TRANSITIONS = 500;

/** Turns of one round. */
const TURNS = 10;

/** Sends itself an event in each state, so that each of its transitions is for an event of its own. */
const machine = setupMachine({
  types: { context: {} as { readonly left: number } },
  actions: {
    count: assign({ left: ({ context }) => context.left - 1 }),
    proceed: ({ context, self }) => context.left > 0 && self.send({ type: "step" }),
  },
}).createMachine({
  context: { left: TRANSITIONS },
  initial: "open",
  states: {
    open: { on: { chat: { target: "odd", actions: "count" } } },
    odd: { entry: "proceed", on: { step: { target: "even", actions: "count" } } },
    even: { entry: "proceed", on: { step: { target: "odd", actions: "count" } } },
  },
});

const durable = fromMachine({ name: "durable", purpose: "Keeps each state of the machine.", machine });

const volatile = defineAgent({
  name: "volatile",
  purpose: "Runs the same machine in its handler, and keeps nothing of it.",
  chat() {
    const actor = createActor(machine).start();
    actor.send({ type: "chat" });
    if (actor.getSnapshot().context.left !== 0) throw new Error("the machine has not taken all transitions");
  },
});

/**
 * The CPU time of a transition of a machine on a log in memory; and what of it is for its event and its state, compared
 * with the same machine in a handler.
 */
export async function measureTransitions({ rounds, warmUpTurns }: Setup): Promise<Result[]> {
  const runtime = createRuntime({ agents: [durable, volatile] });
  const whole: number[] = [];
  const added: number[] = [];
  const warmUpRounds = warmUpTurns / TRANSITIONS;
  for (let round = -warmUpRounds; round < rounds; round += 1) {
    const kept = await perform(runtime, durable);
    const alone = await perform(runtime, volatile);
    if (round < 0) continue;
    whole.push(kept);
    added.push(kept - alone);
  }
  await runtime.close();
  const what = `CPU of a transition of a machine, ${TRANSITIONS} in one turn, memory log`;
  return [
    atMost(what, median(whole), 15, microseconds),
    atMost(`${what}: its event and its state`, median(added), 5, microseconds),
  ];
}

/** The CPU time of a transition, from the turns of one round. */
async function perform(runtime: Runtime, { name }: Agent): Promise<number> {
  const before = process.cpuUsage();
  for (let turn = 0; turn < TURNS; turn += 1) {
    const receipt = await runtime.process(name, { type: "ChatRequest", input: "go" });
    const end = await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
    if (end?.includes('"finish_reason":"success"') !== true) throw new Error(`the turn failed: ${end}`);
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / TURNS / TRANSITIONS;
}
