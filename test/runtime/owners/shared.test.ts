import { createRuntime, defineAgent } from "troupe";
import type { Agent, Principal, Runtime } from "troupe";
import { llmAgent, scriptedModel } from "troupe/llm";
import { sqliteLog } from "troupe/storage/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { temporaryDirectory } from "../../storage/directories.ts";

const ANN: Principal = { id: "ann", owner: "acme", roles: ["user"], name: "Ann" };
const BOB: Principal = { id: "bob", owner: "bolt", roles: ["user"] };
const OPS: Principal = { id: "ops", owner: "default", roles: ["operator"] };

// oxlint-disable-next-line typescript/explicit-function-return-type -- its operations are its type
function counter(shared: boolean) {
  return defineAgent({
    name: "counter",
    purpose: "Counts.",
    shared,
    memorySchema: z.number().default(0),
    operations: (own) => ({
      add: own({
        input: z.number(),
        run(by, turn) {
          turn.memory.set(turn.memory.get() + by);
          return turn.memory.get();
        },
      }),
      value: own({ input: z.null(), read: true, run: (_, turn) => turn.memory.get() }),
    }),
  });
}

type Counter = ReturnType<typeof counter>;

function asking(count: Counter): Agent {
  return defineAgent({
    name: "asker",
    purpose: "Asks the counter.",
    operations: (own) => ({
      add: own({
        input: z.number(),
        run: (by, turn) => turn.ask(turn.actor(count, "all"), "add", by),
      }),
      tell: own({
        input: z.number(),
        async run(by, turn) {
          const all = turn.actor(count, "all");
          await turn.tell(all, "add", by);
          // After what it was told.
          return turn.ask(all, "add", 0);
        },
      }),
      value: own({
        input: z.number(),
        run: (_, turn) => turn.ask(turn.actor(count, "all"), "value", null),
      }),
    }),
  });
}

async function start(shared: boolean, directory = temporaryDirectory()): Promise<Runtime> {
  const count = counter(shared);
  const runtime = createRuntime({ agents: [asking(count), count], log: sqliteLog(directory) });
  onTestFinished(() => runtime.close());
  await runtime.ready();
  return runtime;
}

async function ask(runtime: Runtime, principal: Principal, by: number, operation = "add"): Promise<unknown> {
  const own = runtime.as(principal);
  const receipt = await own.process("asker", { type: "OperationRequest", operation, input: by });
  const event = await own.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
  return (JSON.parse(event ?? "{}") as { readonly output?: unknown }).output;
}

test("an actor of a shared agent is the same for agents of all owners, and after a restart", async () => {
  const directory = temporaryDirectory();
  const first = await start(true, directory);
  expect(await ask(first, ANN, 1)).toBe(1);
  expect(await ask(first, BOB, 10)).toBe(11);
  await first.close();
  const runtime = await start(true, directory);
  expect(await ask(runtime, ANN, 100)).toBe(111);
  expect(await ask(runtime, BOB, 1, "tell")).toBe(112);
  expect(await ask(runtime, ANN, 0, "value")).toBe(112);

  // It belongs to no principal: nobody reads in it what others have asked, except who sees all owners.
  for (const principal of [ANN, BOB]) {
    const own = runtime.as(principal);
    expect((await own.runs({ agent: "counter", limit: 10 })).runs).toEqual([]);
    await expect(own.find("counter", "all")).rejects.toMatchObject({ code: "forbidden" });
    await expect(
      own.process("counter", { type: "OperationRequest", operation: "add", input: 1, key: "all" }),
    ).rejects.toMatchObject({ code: "forbidden" });
  }
  const operator = runtime.as(OPS);
  const runId = await operator.find("counter", "all");
  expect((await operator.runs({ agent: "counter", limit: 10 })).runs).toMatchObject([{ run_id: runId }]);
  const { events } = await operator.read(await operator.resolve(runId ?? ""), { after: 0 });
  const by = events
    .map((text) => JSON.parse(text) as { readonly by?: object })
    .flatMap((event) => event.by ?? []);
  expect(by).toContainEqual({ id: "ann", name: "Ann" });
  expect(by).toContainEqual({ id: "bob" });
  const asked = { type: "OperationRequest", operation: "add", input: 1000, key: "all" } as const;
  const receipt = await operator.process("counter", asked);
  const event = await operator.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
  expect(JSON.parse(event ?? "{}")).toMatchObject({ output: 1112 });
});

test("without it each owner has an actor of its own with the same key", async () => {
  const runtime = await start(false);
  expect(await ask(runtime, ANN, 1)).toBe(1);
  expect(await ask(runtime, BOB, 10)).toBe(10);
  expect(await runtime.as(ANN).find("counter", "all")).not.toBe(await runtime.as(BOB).find("counter", "all"));
});

test("a request of a client without a key has a run of its own, that of its owner", async () => {
  const runtime = await start(true);
  const own = runtime.as(ANN);
  const asked = { type: "OperationRequest", operation: "add", input: 5 } as const;
  const receipt = await own.process("counter", asked);
  const event = await own.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
  expect(JSON.parse(event ?? "{}")).toMatchObject({ output: 5 });
  expect((await own.runs({ agent: "counter", limit: 10 })).runs).toHaveLength(1);
});

test("an agent made from a model can be shared, too", async () => {
  const model = scriptedModel(["first", "second"]);
  const peer = llmAgent({ name: "peer", purpose: "Counts.", instructions: "Count.", model, shared: true });
  const asker = defineAgent({
    name: "asker",
    purpose: "Asks the peer.",
    operations: (own) => ({
      add: own({
        input: z.number(),
        run: (_, turn) => turn.ask(turn.actor(peer, "all"), "chat", { input: "hello" }),
      }),
    }),
  });
  const runtime = createRuntime({ agents: [asker, peer] });
  onTestFinished(() => runtime.close());
  expect(JSON.stringify(await ask(runtime, ANN, 0))).toContain("first");
  expect(JSON.stringify(await ask(runtime, BOB, 0))).toContain("second");
  await expect(runtime.as(BOB).find("peer", "all")).rejects.toMatchObject({ code: "forbidden" });
});

test("shared must be true or false", () => {
  const wrong = { name: "counter", purpose: "Counts.", chat: () => "1", shared: "yes" as unknown as boolean };
  expect(() => defineAgent(wrong)).toThrow("the shared of agent counter must be true or false");
});
