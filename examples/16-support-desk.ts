// The support desk of two shops, each with a webhook: a model with tools and two MCP servers, and refunds that a person approves, above
// 100 EUR one with the role finance. `DESK_ACME=a DESK_BOLT=b npx troupe dev` in support-desk/ serves it.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, memoryLog } from "troupe";
import { apiKeys } from "troupe/auth";
import { createClient } from "troupe/client";
import type { Client, OpenWait } from "troupe/client";
import { serve } from "troupe/node";
import { customer } from "./support-desk/agents/customer.ts";
import { desk } from "./support-desk/agents/desk.ts";
import { evening, ledger } from "./support-desk/agents/ledger.ts";
import { refund } from "./support-desk/agents/refund.ts";

const bank = join(tmpdir(), `support-desk-${process.pid}`);
Object.assign(process.env, { DESK_BANK: bank, DESK_ACME: "a", DESK_BOLT: "b" });
const { adapters } = await import("./support-desk/troupe.config.ts");
const log = memoryLog();
const runtime = createRuntime({ agents: [desk, refund, customer, ledger, evening], log });
const keys = apiKeys(log.secrets());
const server = await serve(runtime, { authenticate: keys, adapters });

async function person(name: string, owner: string, role: string): Promise<Client> {
  const { key } = await keys.create({ name, owner, roles: ["user", role] });
  return createClient(server.url, { token: key });
}

/** A page of a shop reports broken goods. */
function report(shop: string, secret: string, delivery: string, order: string): Promise<Response> {
  const body = JSON.stringify({ delivery, name: "jim", order });
  const headers = { "x-signature": createHmac("sha256", secret).update(body).digest("hex") };
  return fetch(`${server.url}/webhooks/${shop}`, { method: "POST", body, headers });
}

/** The question that a report leads to, as somebody sees it. */
async function questionOf(reader: Client, response: Response): Promise<OpenWait> {
  const { request_id: id } = (await response.json()) as { readonly request_id: string };
  const call = reader.request(id);
  for await (const { type } of call) console.log(type);
  assert(call.waits[0]);
  return call.waits[0];
}

try {
  const ann = await person("Ann", "acme", "desk");
  const fay = await person("Fay", "acme", "finance");
  const bob = await person("Bob", "bolt", "desk");
  const { schedules } = runtime.as({ id: "ann", owner: "acme", roles: ["user"] });
  const daily = await schedules.make("evening", { key: "daily", cron: "0 18 * * *", operation: "report" });

  // Who decides sees the order and the amount. A delivery that comes twice is one turn.
  assert.equal((await report("acme", "a", "d-1", "A1")).status, 202);
  const small = await questionOf(ann, await report("acme", "a", "d-1", "A1"));
  assert.deepEqual(small.questions, { approved: "Refund 10.01 EUR for order A1?" });
  await small.answer({ approved: true });
  await ann.request(small.requestId);

  // Above 100 EUR Ann sees what is asked, and Fay answers.
  const large = await questionOf(ann, await report("acme", "a", "d-2", "A9500"));
  assert.equal(large.question, "Refund 105.00 EUR for order A9500?");
  await assert.rejects(large.answer({ approved: true }), { code: "not_an_approver" });
  await (await fay.waits())?.waits[0]?.answer({ approved: true });
  await ann.request(large.requestId);

  // The other shop sees nothing of this, and has a customer Jim of its own.
  assert.deepEqual((await bob.runs()).runs, []);
  const other = await questionOf(bob, await report("bolt", "b", "d-1", "A3"));
  await other.answer({ approved: false });
  await bob.request(other.requestId);
  const notes = (reader: Client) => reader.agent<typeof customer>("customer").actor("jim").call("notes", {});
  assert.deepEqual(await notes(ann), ["A1 refunded", "A9500 refunded"]);
  assert.deepEqual(await notes(bob), ["A3 not refunded"]);

  const { requestId } = await schedules.run(daily.run_id, daily.id);
  assert.equal(await ann.request(requestId), "2 refunds, 115.01 EUR");
  const { entries } = await runtime.audit.list({ action: "answer", limit: 10 });
  assert.deepEqual(
    entries.map(({ by }) => by.name),
    ["Bob", "Fay", "Ann"],
  );
} finally {
  await server.close();
  await runtime.close();
  await rm(bank, { force: true });
}
