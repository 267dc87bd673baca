import { fromMachine } from "troupe";
import type { Agent, MachineOptions } from "troupe";
import type { RequestId } from "troupe/protocol";
import { checkLog } from "troupe/testing";
import { expect, test } from "vitest";
import { assign, createMachine } from "xstate";
import type { AnyStateMachine } from "xstate";
import * as z from "zod";
import { TestHost, asked, chat } from "../test-host.ts";

/** An agent whose machine asks in a state of this name; the answer ends its turn. */
function desk(
  asking: string,
  {
    context = {},
    schema,
    ...options
  }: Partial<Omit<MachineOptions, "machine">> & {
    readonly context?: object;
    readonly schema?: z.ZodType;
  } = {},
): Agent {
  return fromMachine({
    name: "desk",
    purpose: "Asks.",
    version: "1",
    ...options,
    machine: createMachine({
      initial: "idle",
      context,
      ...(schema && { schemas: { context: schema } }),
      states: {
        idle: { on: { chat: asking } },
        [asking]: {
          tags: ["wait"],
          meta: { request_keys: { ok: "Right?" } },
          on: {
            resume: { target: "done", actions: assign(({ event }) => ({ ok: event["ok"] as boolean })) },
          },
        },
        done: { type: "final" },
      },
      output: ({ context: at }) => at,
    }),
  });
}

const answer = { type: "ResumeWithInput", request_id: asked, request_keys: { ok: true } } as const;

async function waitingAt(agent: Agent): Promise<TestHost> {
  const host = new TestHost({ agents: [agent] });
  await host.ask("desk", chat);
  expect(await host.runtime.status(asked)).toMatchObject({ status: "waiting" });
  return host;
}

/** Serves an agent, answers, and returns the status; the check has said the same before. */
async function answeredBy(host: TestHost, agent: Agent) {
  const { log, artifacts, secrets } = host;
  const { fits } = await checkLog({ log, artifacts, secrets, agents: [agent] });
  await host.restart([agent]);
  await host.ask("desk", answer);
  const status = await host.runtime.status(asked);
  expect(fits).toBe(status.status !== "held");
  return status;
}

const rename = { "1": (snapshot: object) => ({ ...snapshot, value: "reviewing" }) };

test("a state that has another name now continues after its migration, with the question that is open", async () => {
  const host = await waitingAt(desk("asking", { context: { seats: 2 } }));
  const next = desk("reviewing", { version: "2", migrate: rename, context: { seats: 0 } });
  expect(await answeredBy(host, next)).toMatchObject({
    finish_reason: "success",
    output: { seats: 2, ok: true },
  });
});

test("a migration can give the context what it lacks", async () => {
  const host = await waitingAt(desk("asking"));
  const schema = z.object({ price: z.number() });
  const migrate = { "1": (snapshot: object) => ({ ...snapshot, context: { price: 7 } }) };
  const next = desk("asking", { version: "2", migrate, schema, context: { price: 0 } });
  expect(await answeredBy(host, next)).toMatchObject({ output: { price: 7, ok: true } });
});

test.each<[string, Agent, RegExp]>([
  [
    "its migration throws",
    desk("asking", {
      version: "2",
      migrate: {
        "1": () => {
          throw new Error("no such field");
        },
      },
    }),
    /a migration that fails: no such field/,
  ],
  [
    "its migration makes a state that the chart does not have",
    desk("asking", { version: "2", migrate: rename }),
    /the log has a state in "reviewing"; the chart has/,
  ],
  [
    "its migration forgets the question that is open",
    desk("asking", { version: "2", migrate: { "1": (snapshot) => ({ ...snapshot, value: "idle" }) } }),
    /the log has a question of state \(machine\)\.reviewing/,
  ],
  [
    "its context does not fit the schema of the machine",
    desk("asking", {
      version: "2",
      compatible: ["1"],
      schema: z.object({ seats: z.number().max(1) }),
      context: { seats: 0 },
    }),
    /the log has a context with seats; the chart has the context .*1/s,
  ],
])("a turn is held if %s, and continues after the rollback", async (what, next, message) => {
  const before = desk(what.includes("forgets") ? "reviewing" : "asking", { context: { seats: 2 } });
  const host = await waitingAt(before);
  expect(await answeredBy(host, next)).toMatchObject({
    status: "held",
    held: { code: "snapshot_mismatch", message: expect.stringMatching(message) as string },
  });
  await host.restart([before]);
  expect(await host.runtime.status(asked)).toMatchObject({ finish_reason: "success" });
});

/** An agent that counts its chats in a state of this name, and keeps it between its turns. */
function counter(state: string, options: Partial<MachineOptions> = {}): Agent {
  const machine: AnyStateMachine = createMachine({
    initial: state,
    context: { count: 0 },
    states: {
      [state]: {
        on: {
          chat: {
            actions: assign({
              count: ({ context }: { readonly context: { readonly count: number } }) => context.count + 1,
            }),
          },
        },
      },
    },
  });
  return fromMachine({
    name: "desk",
    purpose: "Counts.",
    version: "1",
    ...options,
    machine,
    output: ({ value, context }) => `${String(value)} ${String((context as { count: number }).count)}`,
  });
}

test("a state that was kept between two turns is migrated, and without a migration the next turn is held", async () => {
  const host = new TestHost({ agents: [counter("open")] });
  await host.ask("desk", chat);
  const { run_id } = await host.runtime.status(asked);
  await host.restart([counter("ready", { version: "2" })]);
  const next = { ...chat, run_id, request_id: "next" } as const;
  await host.ask("desk", next);
  const id = "next" as RequestId;
  expect(await host.runtime.status(id)).toMatchObject({
    status: "held",
    held: { code: "snapshot_mismatch", message: expect.stringContaining('a state in "open"') as string },
  });
  const migrate = { "1": (snapshot: object) => ({ ...snapshot, value: "ready" }) };
  await host.restart([counter("ready", { version: "2", migrate })]);
  expect(await host.runtime.status(id)).toMatchObject({ finish_reason: "success", result: "ready 2" });
});

test("a delay of a state that is gone holds the turn", async () => {
  const timed = (state: string, version: string): Agent =>
    fromMachine({
      name: "desk",
      purpose: "Waits.",
      version,
      ...(version === "2" && { migrate: { "1": (snapshot) => ({ ...snapshot, value: state }) } }),
      machine: createMachine({
        initial: "idle",
        states: {
          idle: { on: { chat: state } },
          [state]: { after: { 60_000: "done" } },
          done: { type: "final" },
        },
      }),
    });
  const host = new TestHost({ agents: [timed("resting", "1")] });
  void host.runtime.process("desk", chat);
  await host.environment.idle();
  await host.restart([timed("sleeping", "2")]);
  await host.environment.advance(60_000);
  expect(await host.runtime.status(asked)).toMatchObject({
    held: { expected: "the delay xstate.after.60000.(machine).resting" },
  });
  await host.restart([timed("resting", "1")]);
  await host.environment.advance(1);
  expect(await host.runtime.status(asked)).toMatchObject({ finish_reason: "success" });
});

test("a migration without a version of the machine, or that is no function, is refused", () => {
  const migrate = { "1": (snapshot: object) => snapshot };
  expect(() => counter("open", { version: undefined as never, migrate })).toThrow("needs a version");
  expect(() => counter("open", { migrate: { "1": "asking" as never } })).toThrow(
    "has a function for each version",
  );
});
