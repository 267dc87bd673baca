import { setTimeout } from "node:timers/promises";
import { createRuntime, defineAgent, operation } from "troupe";
import type { Agent, EventLog, Runtime } from "troupe";
import { nodeEnvironment } from "troupe/node";
import type { RequestId, RunId } from "troupe/protocol";
import { z } from "zod";

/** What stands in a template where each of its copies has a text of its own. Each is a word of lower-case letters. */
export const TOKEN = { id: "tttttttt", owner: "oooooooo", lot: "llllllll" } as const;

/** A run that the runtime has made, to be copied. */
export interface Template {
  readonly runId: RunId;
  readonly agent: string;
  /** How many of 100,000 copies are of it. */
  readonly share: number;
}

/** The events of a turn that ends: a start, texts and an end. */
const TEXTS = 18;

async function speak(input: string, turn: { text(content: string): Promise<unknown> }): Promise<void> {
  for (let at = 1; at <= TEXTS; at += 1) {
    const said = turn.text(`word ${at} of ${input} `);
    // A turn at the pace of a model is a few appends.
    if (at % 6 === 0) await said;
  }
}

const clerk = defineAgent({
  name: "clerk",
  purpose: "Answers.",
  async chat(input, turn) {
    await speak(input, turn);
    return `parcel sent for ${input}`;
  },
});

const breaker = defineAgent({
  name: "breaker",
  purpose: "Speaks, and fails.",
  async chat(input, turn) {
    await speak(input, turn);
    throw new Error("the till is broken");
  },
});

/** Agents that speak and then ask a person: one with many runs, one with few. */
const askers = ["asker", "rare", "queuer"].map((name) =>
  defineAgent({
    name,
    purpose: "Speaks, and asks a person.",
    async chat(input, turn) {
      await speak(input, turn);
      await turn.waitForInput({ answer: "What now?" });
    },
  }),
);

const sleeper = defineAgent({
  name: "sleeper",
  purpose: "Speaks, and sleeps for ten years.",
  async chat(input, turn) {
    await speak(input, turn);
    await turn.sleep(3_650 * 86_400_000);
  },
});

const keeper = defineAgent({
  name: "keeper",
  purpose: "Has a key and a schedule.",
  async chat(input, turn) {
    await speak(input, turn);
  },
  operations: { note: operation({ description: "Notes.", input: z.object({}), run: () => {} }) },
});

const shop = defineAgent({
  name: "shop",
  purpose: "Takes short orders.",
  operations: {
    order: operation({
      description: "Orders.",
      input: z.object({ thing: z.string().max(5) }),
      run: () => {},
    }),
  },
});

const teller = defineAgent({
  name: "teller",
  purpose: "Speaks, and tells the shop what it does not take.",
  async chat(input, turn) {
    await speak(input, turn);
    await turn.tell(turn.actor(shop, "main"), "order", { thing: "too long" }).catch(() => {});
  },
});

/** The agents of the copies. */
export const AGENTS: readonly Agent[] = [clerk, breaker, ...askers, sleeper, keeper, shop, teller];

const INPUT = `order ${TOKEN.id} lot${TOKEN.lot}`;

/** Makes a run of each kind on an empty log, which is closed then: 100 of 1,000 runs wait for a person. */
export async function makeTemplates(log: EventLog): Promise<readonly Template[]> {
  let ids = 0;
  const environment = {
    ...nodeEnvironment(),
    newId: () => `${TOKEN.id}${String((ids += 1)).padStart(13, "0")}`,
  };
  const runtime = createRuntime({ agents: AGENTS, log, environment });
  await runtime.ready();
  const own = runtime.as({ id: TOKEN.owner, owner: TOKEN.owner, roles: ["user"] });
  const templates: Template[] = [];
  const start = async (
    agent: string,
    share: number,
    more: { readonly key?: string } = {},
  ): Promise<RunId> => {
    const metadata = { lot: TOKEN.lot, shelf: "left" };
    const runId = await own.createRun(agent, { input: INPUT, metadata, ...more });
    const receipt = await own.process(agent, { type: "ChatRequest", input: INPUT, run_id: runId });
    if (agent === "sleeper")
      await until(own, receipt.requestId, ({ waiting_for }) => waiting_for !== undefined);
    else await own.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
    templates.push({ runId, agent, share });
    return runId;
  };
  await start("asker", 9_890);
  await start("rare", 10);
  const queued = await start("queuer", 100);
  await own.process("queuer", { type: "ChatRequest", input: INPUT, run_id: queued, on_busy: "enqueue" });
  await start("sleeper", 1_000);
  const key = `key-${TOKEN.id}`;
  await start("keeper", 500, { key });
  await own.schedules.make("keeper", { key, operation: "note", input: {}, cron: "0 9 1 1 *" });
  await start("teller", 20);
  await start("breaker", 3_480);
  await start("clerk", 85_000);
  await log.indexed?.();
  await runtime.close();
  await log.close();
  return templates;
}

type Status = Awaited<ReturnType<Runtime["status"]>>;

async function until(runtime: Runtime, requestId: RequestId, is: (status: Status) => boolean): Promise<void> {
  while (!is(await runtime.status(requestId))) await setTimeout(20);
}
