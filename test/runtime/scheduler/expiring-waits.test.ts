import { defineAgent, fromMachine } from "troupe";
import { expect, test } from "vitest";
import { assign, createMachine } from "xstate";
import { z } from "zod";
import { ofType } from "../../agents/events.ts";
import { TestHost, asked, chat } from "../test-host.ts";

const DAY_MS = 86_400_000;
const LIMIT_MS = 2 * DAY_MS;

const patient = defineAgent({
  name: "patient",
  purpose: "Asks for a name, but not for ever.",
  async chat(_input, turn) {
    const values = await turn.waitForInput(z.object({ name: z.string() }), { timeoutMs: LIMIT_MS });
    await turn.text("Thanks.");
    return `Hello ${values?.name ?? "nobody"}.`;
  },
});

const machine = fromMachine({
  name: "patient",
  purpose: "Asks for a name, but not for ever.",
  operations: {},
  machine: createMachine({
    context: { name: "nobody" },
    initial: "open",
    output: ({ context }: { readonly context: { readonly name: string } }) => `Hello ${context.name}.`,
    states: {
      open: { on: { chat: "asking" } },
      asking: {
        tags: "wait",
        meta: { request_keys: { name: "Your name?" } },
        on: {
          resume: { target: "done", actions: assign({ name: ({ event }) => event["name"] as string }) },
        },
        after: { [LIMIT_MS]: "done" },
      },
      done: { type: "final" },
    },
  }),
});

const kinds = [
  ["a handler", patient],
  ["a machine", machine],
] as const;

const answer = { type: "ResumeWithInput", request_id: asked, request_keys: { name: "Ann" } } as const;

for (const [kind, agent] of kinds) {
  for (const idleRuns of [0, 1_000]) {
    test(`${kind} continues without an answer at the deadline, with ${idleRuns} idle runs in memory`, async () => {
      const host = new TestHost({ agents: [agent], limits: { idleRuns } });
      await host.ask("patient", chat);
      const expiresAt = new Date(host.environment.now() + LIMIT_MS).toISOString();
      const [wait] = ofType(await host.events(asked), "WaitForInput");
      expect(wait).toMatchObject({ expires_at: expiresAt });
      expect(await host.runtime.status(asked)).toMatchObject({
        status: "waiting",
        waiting_for: { kind: "input", wait_id: wait?.id, expires_at: expiresAt },
      });

      await host.environment.advance(LIMIT_MS - 1);
      expect((await host.runtime.status(asked)).status).toBe("waiting");
      await host.environment.advance(1);
      const events = await host.events(asked);
      expect(ofType(events, "WaitExpired")).toMatchObject([{ wait_id: wait?.id, role: "system", depth: 0 }]);
      expect(events.at(-1)).toMatchObject({ finish_reason: "success" });
      expect(JSON.stringify(events.at(-1))).toContain("Hello nobody.");
    });
  }

  test(`${kind} continues at the deadline over restarts, which load nothing before it`, async () => {
    const host = new TestHost({ agents: [agent], limits: { idleRuns: 0 } });
    await host.ask("patient", chat);
    const { commits } = host;
    for (let hour = 0; hour < 47; hour += 1) {
      await host.environment.advance(3_600_000);
      if (hour % 10 === 0) await host.restart();
    }
    expect(host.commits).toBe(commits);
    await host.environment.advance(3_600_000);
    expect(ofType(await host.events(asked), "WaitExpired")).toHaveLength(1);
    expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success" });
  });

  test(`${kind} continues at the start if the deadline passed while no process ran`, async () => {
    const host = new TestHost({ agents: [agent] });
    await host.ask("patient", chat);
    host.crash();
    await host.environment.advance(2 * LIMIT_MS);
    await host.restart();
    await host.environment.advance(0);
    expect(ofType(await host.events(asked), "WaitExpired")).toHaveLength(1);
    expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success" });
  });

  test(`${kind} takes an answer before the deadline, and none at it or later`, async () => {
    const host = new TestHost({ agents: [agent] });
    await host.ask("patient", chat);
    await host.environment.advance(LIMIT_MS - 1);
    await host.ask("patient", answer);
    expect(JSON.stringify((await host.events(asked)).at(-1))).toContain("Hello Ann.");
    await host.environment.advance(1);
    expect(ofType(await host.events(asked), "WaitExpired")).toEqual([]);
    expect(host.environment.timers).toBe(0);

    const late = { ...chat, request_id: "late" };
    await host.ask("patient", late);
    await host.environment.advance(LIMIT_MS);
    await expect(host.ask("patient", { ...answer, request_id: "late" })).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringMatching(/^wait \d+ of request late has expired$/) as string,
    });
  });
}

test.each([0, 1_000])(
  "an answer after the deadline is refused also if the process was down at the deadline, with %s idle runs",
  async (idleRuns) => {
    const host = new TestHost({ agents: [patient], limits: { idleRuns } });
    await host.ask("patient", chat);
    host.crash();
    await host.environment.advance(LIMIT_MS);
    const restarting = host.restart();
    const given = host.runtime.process("patient", answer);
    given.catch(() => {});
    await restarting;
    await host.environment.idle();
    await expect(given).rejects.toMatchObject({ code: "conflict" });
    await host.environment.advance(0);
    expect(ofType(await host.events(asked), "WaitExpired")).toHaveLength(1);
    expect((await host.events(asked)).at(-1)).toMatchObject({ result: "Hello nobody." });
  },
);

test("a crash at each commit around the deadline expires the wait once", async () => {
  for (const written of [true, false]) {
    for (let commit = 0; commit < 6; commit += 1) {
      const host = new TestHost({ agents: [patient], limits: { idleRuns: commit % 2 === 0 ? 0 : 1_000 } });
      await host.ask("patient", chat);
      host.planFault({ kind: "crash", written, after: commit });
      await host.environment.advance(LIMIT_MS);
      if (host.crashed) await host.restart();
      await host.environment.advance(0);
      expect(ofType(await host.events(asked), "WaitExpired")).toHaveLength(1);
      expect((await host.events(asked)).at(-1)).toMatchObject({ result: "Hello nobody." });
    }
  }
});

test("the time limit of a wait holds while another branch works, and the turn's own time does not run", async () => {
  const work = Promise.withResolvers<string>();
  const both = defineAgent({
    name: "both",
    purpose: "Asks while it works.",
    async chat(_input, turn) {
      const [values, result] = await turn.all([
        (branch) => branch.waitForInput({ name: "Your name?" }, { timeoutMs: 60_000 }),
        (branch) => branch.effect("work", () => work.promise),
      ]);
      return `${values === undefined ? "undefined" : "answered"} ${result}`;
    },
  });
  const host = new TestHost({ agents: [both] });
  await host.ask("both", chat);
  expect((await host.runtime.status(asked)).status).toBe("running");
  await host.environment.advance(60_000);
  expect(ofType(await host.events(asked), "WaitExpired")).toHaveLength(1);
  work.resolve("done");
  await host.environment.idle();
  expect((await host.events(asked)).at(-1)).toMatchObject({ result: "undefined done" });
});

test("an expired wait starts a segment, is in every stream, and a stream does not end at it", async () => {
  const twice = defineAgent({
    name: "twice",
    purpose: "Asks twice.",
    async chat(_input, turn) {
      await turn.waitForInput({ first: "First?" }, { timeoutMs: 60_000 });
      await turn.text("Then.");
      await turn.waitForInput({ second: "Second?" });
    },
  });
  const host = new TestHost({ agents: [twice] });
  await host.ask("twice", { ...chat, logging_level: "minimal" });
  await host.environment.advance(60_000);
  const address = await host.runtime.resolve(asked);
  const feed = await host.runtime.follow(address, {});
  const types: string[] = [];
  for await (const { events } of feed.pages)
    types.push(...events.map((text) => (JSON.parse(text) as { readonly type: string }).type));
  expect(types).toEqual(["WaitExpired", "TextOutput", "WaitForInput"]);
});

test("a time limit that is no time is an error of the handler", async () => {
  for (const timeoutMs of [-1, 0, Number.NaN, Infinity]) {
    const wrong = defineAgent({
      name: "wrong",
      purpose: "Asks wrongly.",
      async chat(_input, turn) {
        await turn.waitForInput({ name: "Your name?" }, { timeoutMs });
      },
    });
    const host = new TestHost({ agents: [wrong] });
    await host.ask("wrong", chat);
    expect((await host.events(asked)).at(-1)).toMatchObject({
      finish_reason: "error",
      error: { message: expect.stringContaining("timeoutMs") as string },
    });
  }
});

test("a sleep longer than any date ends at the last one", async () => {
  const eternal = defineAgent({
    name: "eternal",
    purpose: "Sleeps.",
    chat: (_input, turn) => turn.sleep(Number.MAX_VALUE),
  });
  const host = new TestHost({ agents: [eternal] });
  await host.ask("eternal", chat);
  expect(await host.runtime.status(asked)).toMatchObject({ waiting_for: { kind: "sleep" } });
});
