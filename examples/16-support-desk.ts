// A support desk: a model with two tools and two MCP servers, refunds that a person approves, actors that remember customers
// and sums, a report each evening, and a webhook. Its agents are in support-desk/agents: `npx troupe dev --agents
// examples/support-desk/agents` serves them. The example has a clock of its own.
import assert from "node:assert/strict";
import { createHmac, timingSafeEqual } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime } from "troupe";
import type { Event, RequestId } from "troupe/protocol";
import { manualEnvironment } from "troupe/testing";
import { customer } from "./support-desk/agents/customer.ts";
import { desk } from "./support-desk/agents/desk.ts";
import { evening, ledger } from "./support-desk/agents/ledger.ts";
import { refund } from "./support-desk/agents/refund.ts";

const folder = await mkdtemp(join(tmpdir(), "support-desk-"));
process.env["DESK_BANK"] = join(folder, "bank.jsonl");
const environment = manualEnvironment({ startMs: Date.UTC(2026, 10, 24, 12) });
const runtime = createRuntime({ agents: [desk, refund, customer, ledger, evening], environment });
await runtime.ready();

/** Where the shop's own pages report broken goods. A delivery that comes again is the same request, so it is one turn. */
async function webhook(request: Request): Promise<Response> {
  const body = await request.text();
  const given = Buffer.from(request.headers.get("x-signature") ?? "", "hex");
  const right = createHmac("sha256", SECRET).update(body).digest();
  if (given.length !== right.length || !timingSafeEqual(given, right))
    return new Response(null, { status: 401 });
  const { delivery, name, order } = JSON.parse(body) as { readonly [field: string]: string };
  const input = `${name}: refund ${order}`;
  const { requestId } = await runtime.process("desk", {
    type: "ChatRequest",
    input,
    request_id: delivery ?? "",
  });
  return Response.json({ requestId }, { status: 202 });
}

const SECRET = "a secret of both sides";

async function report(
  delivery: string,
  name: string,
  order: string,
  secret: string = SECRET,
): Promise<number> {
  const body = JSON.stringify({ delivery, name, order });
  const headers = { "x-signature": createHmac("sha256", secret).update(body).digest("hex") };
  return (await webhook(new Request("http://desk.test/broken", { method: "POST", body, headers }))).status;
}

/** The events of a request until it ends or asks. */
async function eventsOf(id: string): Promise<readonly Event[]> {
  const events: Event[] = [];
  const feed = await runtime.follow(await runtime.resolve(id), { after: 0 });
  for await (const { events: page } of feed.pages) {
    events.push(...page.map((text) => JSON.parse(text) as Event));
    if (
      events.some(({ type }) => type === "WaitForInput") &&
      !events.some(({ type }) => type === "ResumeWithInput")
    )
      break;
  }
  return events;
}

try {
  assert.equal(await report("d-0", "mallory", "A9", "a guess"), 401);
  assert.equal(await report("d-1", "ann", "A1"), 202);
  assert.equal(await report("d-1", "ann", "A1"), 202);
  assert.equal(await report("d-2", "bob", "A2"), 202);

  // The person who decides sees the order and the amount.
  for (const [id, order, amount, approved] of [
    ["d-1", "A1", "10.01 EUR", true],
    ["d-2", "A2", "10.02 EUR", false],
  ] as const) {
    const question = (await eventsOf(id)).at(-1);
    assert(question?.type === "WaitForInput");
    console.log(question.request_keys["approved"]);
    assert.deepEqual(question.request_keys, { approved: `Refund ${amount} for order ${order}?` });
    assert.deepEqual(question.approval, { tool: "pay", args: { order, amount } });
    const request_id = id as RequestId;
    await runtime.process("desk", { type: "ResumeWithInput", request_id, request_keys: { approved } });
    const end = (await eventsOf(id)).at(-1);
    assert(end?.type === "RequestCompleted");
    console.log(end.result);
    assert.equal(
      end.result,
      approved ? `Your money for ${order} is on its way.` : `We cannot refund ${order}.`,
    );
  }

  // One payment was made, for the delivery that came twice.
  const paid = (await readFile(join(folder, "bank.jsonl"), "utf8")).trimEnd().split("\n");
  assert.deepEqual(
    paid.map((line) => (JSON.parse(line) as { readonly order: string }).order),
    ["A1"],
  );
  const notes = await runtime.actor(customer, "ann").ask("notes", {});
  assert.deepEqual(notes, ["A1 refunded"]);

  await environment.advance(6 * 3_600_000);
  const runId = await runtime.find("evening", "schedule-daily");
  assert(runId !== undefined);
  const { events } = await runtime.read({ kind: "run", runId, agent: "evening" }, { after: 0 });
  const last = JSON.parse(events.at(-1) ?? "{}") as { readonly output: string };
  console.log(last.output);
  assert.equal(last.output, "1 refunds, 10.01 EUR");
} finally {
  await runtime.close();
  await rm(folder, { recursive: true });
}
