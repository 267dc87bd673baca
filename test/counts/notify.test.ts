/** @module-tag long */
// PostgreSQL wakes every connection that listens for each NOTIFY, so its cost grows with the nodes. A chat that is followed on the
// node that owns its run needs none.
import pg from "pg";
import { clusterRouter, createRuntime, defineAgent } from "troupe";
import type { Runtime } from "troupe";
import { httpTransport, nodeEnvironment } from "troupe/node";
import { postgresLog } from "troupe/postgres";
import { expect, onTestFinished, test } from "vitest";
import { findFreeUrl } from "../machine/free-port.ts";
import { needsPostgres } from "../machine/postgres.ts";
import { newDatabase } from "../storage/postgres/databases.ts";

needsPostgres();

const NODES = 3;
const CHATS = 20;

const speaker = defineAgent({
  name: "speaker",
  purpose: "Says some texts, each in a commit of its own.",
  async chat(_input, turn) {
    for (let index = 1; index <= 10; index += 1) await turn.text(`text ${index}\n`);
  },
});

async function startNode(url: string): Promise<Runtime> {
  const log = await postgresLog({ url });
  const environment = nodeEnvironment();
  const transport = httpTransport({ url: await findFreeUrl() });
  const router = clusterRouter({ log, transport, environment });
  const runtime = createRuntime({ agents: [speaker], log, router, environment });
  onTestFinished(() => runtime.close());
  await runtime.ready();
  return runtime;
}

test("chats on three nodes, each followed where it runs, send no NOTIFY", async () => {
  const url = await newDatabase();
  const nodes: Runtime[] = [];
  while (nodes.length < NODES) nodes.push(await startNode(url));
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  let notifies = 0;
  client.on("notification", () => (notifies += 1));
  await client.query("LISTEN troupe_troupe");

  const chat = async (runtime: Runtime): Promise<void> => {
    const receipt = await runtime.process("speaker", { type: "ChatRequest", input: "" });
    await expect(
      runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 }),
    ).resolves.toContain("RequestCompleted");
  };
  /** The NOTIFY of a chat on each node; a statement gets all that were sent before. */
  const count = async (chats: number): Promise<number> => {
    const before = notifies;
    for (let index = 0; index < chats; index += 1) await Promise.all(nodes.map(chat));
    await client.query("SELECT 1");
    return notifies - before;
  };
  // Until the nodes have told each other what is followed on them.
  await expect.poll(() => count(1), { timeout: 30_000 }).toBe(0);
  expect(await count(CHATS)).toBe(0);
});
