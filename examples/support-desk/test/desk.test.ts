import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createRuntime } from "troupe";
import { createClient } from "troupe/client";
import { serve } from "troupe/node";
import { customer } from "../agents/customer.ts";
import { desk } from "../agents/desk.ts";
import { evening, ledger } from "../agents/ledger.ts";
import { refund } from "../agents/refund.ts";

test("a refund is paid once a person has approved it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "desk-"));
  process.env["DESK_BANK"] = join(folder, "bank.jsonl");
  const runtime = createRuntime({ agents: [desk, refund, customer, ledger, evening] });

  const server = await serve(runtime);

  const agent = createClient(server.url).agent("desk");
  const answer = await agent.chat("jim: refund A1", {
    answer({ questions }) {
      assert.deepEqual(questions, { approved: "Refund 10.01 EUR for order A1?" });
      return { approved: true };
    },
  });
  assert.equal(answer, "Your money for A1 is on its way.");
  assert.match(await agent.chat("Where is my order?"), /jim: refund A1/);
  assert.match(await readFile(join(folder, "bank.jsonl"), "utf8"), /"order":"A1","cents":1001/);

  await server.close();
  await runtime.close();
  await rm(folder, { recursive: true });
});
