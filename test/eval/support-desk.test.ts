/** @module-tag long */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime } from "troupe";
import { createClient } from "troupe/client";
import { evaluate, formatCases, parseCases, toCase } from "troupe/eval";
import { serve } from "troupe/node";
import { sqliteLog } from "troupe/storage/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { customer } from "../../examples/support-desk/agents/customer.ts";
import { desk } from "../../examples/support-desk/agents/desk.ts";
import { evening, ledger } from "../../examples/support-desk/agents/ledger.ts";
import { refund } from "../../examples/support-desk/agents/refund.ts";

const agents = [desk, refund, customer, ledger, evening];
const CONVERSATIONS = Number(process.env["EVAL_CONVERSATIONS"] ?? 12);

test("conversations of the support desk end as recorded: charts, people, tools that fail, MCP servers and other actors", async () => {
  const folder = await mkdtemp(join(tmpdir(), "desk-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const before = process.env["DESK_BANK"];
  onTestFinished(() => {
    if (before === undefined) delete process.env["DESK_BANK"];
    else process.env["DESK_BANK"] = before;
  });
  const runtime = createRuntime({ agents, log: sqliteLog(join(folder, "data")) });
  const server = await serve(runtime, { port: 0 });
  const client = createClient(server.url);
  for (let number = 0; number < CONVERSATIONS; number += 1) {
    // A bank that is a directory takes no payment.
    process.env["DESK_BANK"] = number % 4 === 2 ? folder : join(folder, "bank.jsonl");
    await client
      .agent("desk")
      .chat(`jim: refund A${number}`, { answer: () => ({ approved: number % 4 !== 1 }) });
  }
  const { runs } = await client.runs({ agent: "desk", limit: CONVERSATIONS });
  const cases = await Promise.all(
    runs.map(async ({ run_id: id }) => toCase(await runtime.inspection.recording(id))),
  );
  await server.close();
  await runtime.close();
  delete process.env["DESK_BANK"];
  const [{ calls = [] } = {}] = cases[0]?.turns ?? [];
  expect(calls).toContainEqual(expect.objectContaining({ name: "refund.start", kind: "agent" }));

  const report = await evaluate({
    name: "refunds",
    cases: parseCases(formatCases(cases)),
    agents,
    models: false,
  });

  expect(report.cases.map(({ incomplete }) => incomplete)).toEqual(cases.map(() => undefined));
  expect(report).toMatchObject({ equal: CONVERSATIONS, asked: 0 });
  expect(report.cases[0]?.tools).toEqual(expect.arrayContaining(["get_order", "refund.start", "pay"]));
});
