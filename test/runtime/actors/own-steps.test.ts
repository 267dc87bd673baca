import { defineAgent, operation } from "troupe";
import type { ActorAddress, Turn } from "troupe";
import { z } from "zod";
import { expect, test } from "vitest";
import { asked, TestHost } from "../test-host.ts";
import { runsLong } from "../../machine/long.ts";

const to = z.object({ to: z.number() });

/** An actor that works in steps: each one tells the actor itself, or has a timer tell it, to make the next. */
const walker = defineAgent({
  name: "walker",
  purpose: "Walks.",
  operations: {
    walk: operation({
      input: to,
      run: (input, turn) => goOn(input.to, turn, (self) => turn.tell(self, "walk", input)),
    }),
    beat: operation({
      input: to,
      run: (input, turn) =>
        goOn(input.to, turn, (self) => turn.schedule(self, "beat", input, { afterMs: 100 })),
    }),
  },
});

async function goOn(last: number, turn: Turn, next: (self: ActorAddress) => Promise<unknown>): Promise<null> {
  const step = toStep(turn) + 1;
  turn.memory.set(step);
  if (step < last) await next(turn.actor(walker, turn.self));
  return null;
}

function toStep(turn: Turn): number {
  return (turn.memory.get() ?? 0) as number;
}

const run = (operation: string, to: number) =>
  ({ type: "OperationRequest", operation, input: { to }, request_id: asked, key: "a" }) as const;

/** How many steps the actor has begun. */
async function stepsOf(host: TestHost): Promise<number> {
  await host.environment.idle();
  const runId = (await host.runtime.find("walker", "a")) ?? "";
  return (await host.events(runId)).filter(({ type }) => type === "RequestStarted").length;
}

/** Lets the clock run until the actor has made its steps, at most `most` times `ms`. Returns the time in milliseconds. */
async function walkTo(
  host: TestHost,
  step: number,
  { ms, most }: { ms: number; most: number },
): Promise<number> {
  const from = host.environment.now();
  for (let times = 0; times < most && (await stepsOf(host)) !== step; times += 1)
    await host.environment.advance(ms);
  return host.environment.now() - from;
}

const STEPS = runsLong ? 1_500 : 300;

test("an actor may tell itself the next step without end", { tags: "long", timeout: 60_000 }, async () => {
  const host = new TestHost({ agents: [walker], limits: { ownSteps: 10_000 } });
  await host.ask("walker", run("walk", STEPS));
  expect(await stepsOf(host)).toBe(STEPS);
  expect(await host.log.open()).toEqual([]);
});

test("an actor whose own timer beats has no last beat", { tags: "long", timeout: 60_000 }, async () => {
  const host = new TestHost({ agents: [walker] });
  await host.ask("walker", run("beat", 600));
  for (let beats = 0; beats < 600; beats += 1) await host.environment.advance(100);
  expect(await stepsOf(host)).toBe(600);
});

test("an actor that tells itself steps in a hot loop is slowed, and not ended", async () => {
  const host = new TestHost({ agents: [walker] });
  await host.ask("walker", run("walk", 301));
  // The first hundred steps are made at once, and a hundred in each second after it.
  expect(await stepsOf(host)).toBeLessThanOrEqual(110);
  const ms = await walkTo(host, 301, { ms: 100, most: 100 });
  expect(await stepsOf(host)).toBe(301);
  expect(ms).toBeGreaterThanOrEqual(1_900);
  expect(ms).toBeLessThanOrEqual(2_500);
});

test("a slowed step is made after a restart", async () => {
  const host = new TestHost({ agents: [walker], limits: { ownSteps: 1 } });
  await host.ask("walker", run("walk", 4));
  expect(await stepsOf(host)).toBe(2);
  await host.restart();
  await walkTo(host, 4, { ms: 1_000, most: 5 });
  expect(await stepsOf(host)).toBe(4);
  expect(await host.log.open()).toEqual([]);
});

test.each([
  { by: "its run", place: (turn: Turn) => turn.self },
  { by: "its key", place: (_turn: Turn) => "a" },
])(
  "the limits of a run neither slow nor refuse the steps that its actor tells itself, by $by",
  async ({ place }) => {
    const stepper = defineAgent({
      name: "stepper",
      purpose: "Steps.",
      operations: {
        step: operation({
          input: to,
          async run(input, turn) {
            const step = toStep(turn) + 1;
            turn.memory.set(step);
            if (step < input.to) await turn.tell(turn.actor(stepper, place(turn)), "step", input);
            return step;
          },
        }),
      },
    });
    const limits = { ownSteps: 10_000, keyedRunEvents: 20, runEvents: 40 };
    const host = new TestHost({ agents: [stepper], limits });
    await host.ask("stepper", run("step", 100));
    await host.environment.advance(100);
    const runs = (await host.log.list({ limit: 100 })).runs.map(({ runId }) => runId);
    const events = (await Promise.all(runs.map((runId) => host.events(runId)))).flat();
    const steps = events.flatMap((event) =>
      event.type === "RequestCompleted" ? [event.output as number] : [],
    );
    expect(steps.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
  },
);
