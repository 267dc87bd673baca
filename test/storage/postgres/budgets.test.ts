/** @module-tag long */
import { clusterRouter, createRuntime, defineAgent, memoryArtifacts } from "troupe";
import type { Model, Principal, Runtime } from "troupe";
import { nodeEnvironment } from "troupe/node";
import type { Event } from "troupe/protocol";
import { expect, onTestFinished, test } from "vitest";
import type { Json } from "../../../src/protocol/json.ts";
import { needsPostgres } from "../../machine/postgres.ts";
import { newSchema, openSchema } from "./logs.ts";

needsPostgres();

const ANN: Principal = { id: "ann", owner: "acme", roles: ["user"] };
const FAY: Principal = { id: "fay", owner: "acme", roles: ["user", "finance"] };

let asked = 0;

const model: Model = {
  name: "meter",
  async *generate() {
    asked += 1;
    yield { type: "result", result: "ok", usage: { input_tokens: 60 } };
  },
};

const writer = defineAgent({
  name: "writer",
  purpose: "Asks a model.",
  async chat(input, turn) {
    for (let left = Number(input); left > 0; left -= 1) await turn.complete({ model, input: null });
    return "done";
  },
});

const receivers = new Map<string, (message: Json) => Promise<Json>>();

async function startNode(schema: string, name: string): Promise<Runtime> {
  const log = await openSchema(schema);
  const environment = nodeEnvironment();
  const url = `memory://${name}`;
  const transport = {
    url,
    async listen(receive: (message: Json) => Promise<Json>) {
      receivers.set(url, receive);
      return async () => void receivers.delete(url);
    },
    async send(to: string, message: Json) {
      const receive = receivers.get(to);
      if (receive === undefined) throw new Error(`${to} is away`);
      return receive(message);
    },
  };
  const runtime = createRuntime({
    agents: [writer],
    log,
    artifacts: memoryArtifacts(),
    router: clusterRouter({ log, transport, environment }),
    environment,
    owners: () => ({
      tokensPerDay: 60 * 20,
      agents: { writer: { tokensPerDay: 60 * 200 } },
      budgetApprovers: ["finance"],
    }),
  });
  onTestFinished(() => runtime.close());
  await runtime.ready();
  return runtime;
}

/** How a request ends, or what it asks. */
async function run(runtime: Runtime, input: string, requestId: string): Promise<Event> {
  const receipt = await runtime.process("writer", { type: "ChatRequest", input, request_id: requestId });
  let last = "{}";
  for await (const { events } of (await runtime.answers(receipt)).pages) last = events.at(-1) ?? last;
  return JSON.parse(last) as Event;
}

async function endOf(runtime: Runtime, requestId: string): Promise<Event> {
  const feed = await runtime.follow(await runtime.resolve(requestId), { after: 0, forever: true });
  for await (const { events } of feed.pages) {
    const last = JSON.parse(events.at(-1) ?? "{}") as Event;
    if (last.type === "RequestCompleted") return last;
  }
  throw new Error(`${requestId} does not end`);
}

test("two nodes count together, and a raise on one of them has the runs of both go on", async () => {
  const schema = newSchema();
  const nodes = [await startNode(schema, "one"), await startNode(schema, "two")];
  const [one, two] = nodes.map((node) => node.as(ANN)) as [Runtime, Runtime];
  const runs = 100;
  const asks = await Promise.all(
    Array.from({ length: runs }, (_, index) => run(index % 2 === 0 ? one : two, "4", `a-${index}`)),
  );
  const waiting = asks.flatMap(({ type }, index) => (type === "WaitForInput" ? [`a-${index}`] : []));
  expect(waiting.length).toBeGreaterThan(2);
  // Each run has at most one completion too many.
  expect(asked).toBeGreaterThanOrEqual(20);
  expect(asked).toBeLessThanOrEqual(20 + runs);

  const [first = "", ...others] = waiting;
  const ends = Promise.all(others.map((id) => endOf(two, id)));
  const answer = { type: "ResumeWithInput", request_id: first, request_keys: { raise: 1_000_000 } } as const;
  await nodes[0]?.as(FAY).process("writer", answer);
  // Of the same runs, the agent has a budget of its own.
  const agent = await nextQuestion(two);
  expect(agent.budget).toMatchObject({ agent: "writer", limit: 12_000 });
  await nodes[1]?.as(FAY).process("writer", {
    type: "ResumeWithInput",
    request_id: agent.request_id ?? "",
    wait_id: agent.id,
    request_keys: { raise: 1_000_000 },
  });
  for (const end of await ends) expect(end).toMatchObject({ finish_reason: "success" });
  expect(asked).toBe(runs * 4);
});

/** A question about the budget of an agent, when there is one. */
async function nextQuestion(runtime: Runtime): Promise<Event & { readonly type: "WaitForInput" }> {
  const found = (): Promise<readonly Event[]> =>
    runtime.waits({ limit: 100 }).then(({ events }) => events.map((text) => JSON.parse(text) as Event));
  const isOfAgent = (event: Event): event is Event & { readonly type: "WaitForInput" } =>
    event.type === "WaitForInput" && event.budget?.agent !== undefined;
  const asks = Promise.withResolvers<Event & { readonly type: "WaitForInput" }>();
  await expect
    .poll(
      async () => {
        const event = (await found()).find(isOfAgent);
        if (event !== undefined) asks.resolve(event);
        return event !== undefined;
      },
      { timeout: 60_000 },
    )
    .toBe(true);
  return asks.promise;
}
