import { createRuntime, defineAgent, defineTool, memoryLog } from "troupe";
import type { Runtime } from "troupe";
import type { JsonObject, RequestId } from "troupe/protocol";
import { collect } from "troupe/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import type { Batch } from "../../../src/ports/log-batch.ts";
import { memorySecrets } from "../../../src/storage/memory/secrets.ts";
import { watchedLog } from "../watched-log.ts";

/** Reports the configuration that each agent sees. */
const seen: (readonly [who: string, config: JsonObject])[] = [];

const look = defineTool({
  name: "look",
  description: "Looks at the configuration.",
  input: z.object({ for: z.string() }),
  effect: "idempotent",
  run: ({ for: who }, turn) => void seen.push([`tool of ${who}`, turn.config]),
});

const bank = defineAgent({
  name: "bank",
  purpose: "Is asked.",
  tools: [look],
  async chat(_input, turn) {
    seen.push(["bank", turn.config]);
    await turn.tool(look, { for: "bank" });
    await turn.waitForInput({ yes: "Go on?" });
    seen.push(["bank, told yes", turn.config]);
  },
});

const shop = defineAgent({
  name: "shop",
  purpose: "Asks a bank twice.",
  uses: { bank },
  async chat(_input, turn) {
    seen.push(["shop", turn.config]);
    await turn.tool(look, { for: "shop" });
    await turn.call(turn.uses.bank, "chat", { input: "first" });
    await turn.call(turn.uses.bank, "chat", { input: "second" });
  },
});

function configure(runtime: Runtime, agent: string, args: JsonObject): Promise<unknown> {
  return runtime.process(agent, { type: "ConfigureRequest", args });
}

function answer(runtime: Runtime): Promise<unknown> {
  const request_id = "r1" as RequestId;
  return collect(runtime, "shop", { type: "ResumeWithInput", request_id, request_keys: { yes: "yes" } });
}

test("a called agent has its own configuration as of the call; a tool has its caller's", async () => {
  seen.length = 0;
  const appended: Batch[] = [];
  const log = { ...watchedLog({ append: (batch) => appended.push(batch) }), close: async () => {} };
  const options = { agents: [shop, bank], log, secrets: memorySecrets() };
  let runtime = createRuntime(options);
  await configure(runtime, "shop", { door: "red", password: "canary-shop" });
  await configure(runtime, "bank", { vault: 1, apiKey: "canary-bank" });
  await collect(runtime, "shop", { type: "ChatRequest", input: "", request_id: "r1" });

  const own = { door: "red", password: "canary-shop" };
  const first = { vault: 1, apiKey: "canary-bank" };
  expect(seen).toEqual([
    ["shop", own],
    ["tool of shop", own],
    ["bank", first],
    ["tool of bank", first],
  ]);

  // The running call keeps its configuration, also after a restart; the next call gets the new one.
  await configure(runtime, "bank", { vault: 2 });
  await runtime.close();
  seen.length = 0;
  runtime = createRuntime(options);
  await answer(runtime);
  const second = { vault: 2, apiKey: "canary-bank" };
  expect(seen).toEqual([
    ["shop", own],
    ["bank", first],
    ["bank, told yes", first],
    ["bank", second],
    ["tool of bank", second],
  ]);
  expect(JSON.stringify(appended)).not.toContain("canary");
  await runtime.close();
});

test("an unchanged configuration is recorded once for any number of calls", async () => {
  const written: string[] = [];
  const log = watchedLog({ append: (batch) => written.push(JSON.stringify(batch)) });
  const till = defineAgent({
    name: "till",
    purpose: "Counts.",
    chat: (_, turn) => JSON.stringify(turn.config),
  });
  const busy = defineAgent({
    name: "busy",
    purpose: "Asks often.",
    async chat(_input, turn) {
      const calls = Array.from({ length: 50 }, () => turn.call(till, "chat", { input: "" }));
      return [...new Set((await Promise.all(calls)).map(({ output }) => output))].join();
    },
  });
  const runtime = createRuntime({ agents: [busy, till], log });
  await configure(runtime, "till", { note: "a long one" });
  written.length = 0;
  const events = await collect(runtime, "busy", { type: "ChatRequest", input: "" });
  await runtime.close();
  expect(events.at(-1)).toMatchObject({ result: '{"note":"a long one"}' });
  const records = written.join().match(/Configured[^}]*/g) ?? [];
  expect(records).toHaveLength(50);
  expect(records.filter((record) => record.includes("a long one"))).toHaveLength(1);
});

test("an agent that was not configured when it was called stays unconfigured", async () => {
  seen.length = 0;
  const log = { ...memoryLog(), close: async () => {} };
  const before = createRuntime({ agents: [shop, bank], log });
  await configure(before, "shop", { door: "red" });
  await collect(before, "shop", { type: "ChatRequest", input: "", request_id: "r1" });
  await configure(before, "bank", { vault: 1 });
  await before.close();
  const after = createRuntime({ agents: [shop, bank], log });
  await answer(after);
  await after.close();
  expect(seen.filter(([who]) => who.startsWith("bank")).map(([, config]) => config)).toEqual([
    {},
    {},
    {},
    { vault: 1 },
  ]);
});
