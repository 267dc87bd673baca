import { createRuntime, defineAgent, memoryLog } from "troupe";
import type { ListedRequest, Principal, RequestsQuery, Runtime } from "troupe";
import { expect, onTestFinished, test } from "vitest";
import { payments } from "../../../agents/payments.ts";

const ANN: Principal = { id: "ann", owner: "acme", roles: ["user"] };
const BOB: Principal = { id: "bob", owner: "bolt", roles: ["user"] };
const OPS: Principal = { id: "ops", owner: "default", roles: ["operator"] };

const echo = defineAgent({ name: "echo", purpose: "Repeats.", chat: (input) => input });

async function start(): Promise<Runtime> {
  const runtime = createRuntime({ agents: [echo, payments], log: memoryLog() });
  onTestFinished(() => runtime.close());
  await runtime.ready();
  return runtime;
}

async function ask(
  runtime: Runtime,
  agent: string,
  input: string,
  requestId: string,
  key?: string,
): Promise<void> {
  const receipt = await runtime.process(agent, {
    type: "ChatRequest",
    input,
    request_id: requestId,
    ...(key !== undefined && { key }),
  });
  await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
}

async function list(runtime: Runtime, query: Partial<RequestsQuery> = {}): Promise<readonly ListedRequest[]> {
  const found: ListedRequest[] = [];
  for (let { cursor } = query; ;) {
    const page = await runtime.listRequests({ limit: 2, ...query, ...(cursor !== undefined && { cursor }) });
    found.push(...page.requests);
    cursor = page.next;
    if (cursor === undefined) return found;
  }
}

const idsOf = (requests: readonly ListedRequest[]): readonly string[] =>
  requests.map(({ request_id: id }) => id);

test("the requests of all runs are listed by agent, status and time, for each owner its own", async () => {
  const runtime = await start();
  const [ann, bob, ops] = [runtime.as(ANN), runtime.as(BOB), runtime.as(OPS)];
  await ask(ann, "echo", "one", "one", "k");
  await ask(ann, "payments", "pay 30 to bob", "asks");
  await ask(ann, "echo", "two", "two", "k");
  await ask(bob, "echo", "three", "three", "k");

  expect(idsOf(await list(ann))).toEqual(["two", "one", "asks"]);
  expect(idsOf(await list(bob))).toEqual(["three"]);
  // What a user asks of another owner is its own list.
  expect(idsOf(await list(bob, { owner: "acme" }))).toEqual(["three"]);
  expect(idsOf(await list(ops))).toEqual(["three", "two", "one", "asks"]);
  expect(idsOf(await list(ops, { owner: "acme", agent: "echo" }))).toEqual(["two", "one"]);
  const [waiting] = await list(ann, { status: "waiting" });
  expect(waiting).toMatchObject({ request_id: "asks", agent: "payments", status: "waiting" });
  expect(idsOf(await list(ann, { runId: waiting?.run_id ?? "" }))).toEqual(["asks"]);
  expect(idsOf(await list(bob, { runId: waiting?.run_id ?? "" }))).toEqual([]);

  const all = await list(ann);
  const at = Date.parse(all.find(({ request_id: id }) => id === "two")?.created_at ?? "");
  expect(idsOf(await list(ann, { since: at }))).toContain("two");
  expect(idsOf(await list(ann, { until: at }))).not.toContain("two");
  expect(await list(ann, { since: Date.now() + 60_000 })).toEqual([]);
});
