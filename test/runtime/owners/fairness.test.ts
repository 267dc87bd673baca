import { createRuntime, defineAgent } from "troupe";
import type { Principal, Runtime } from "troupe";
import { createApp } from "troupe/http";
import { sqliteLog } from "troupe/storage/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { temporaryDirectory } from "../../storage/directories.ts";

/** How many requests one owner sends at once. `TROUPE_FAIR=10000` is the whole of it. */
const MANY = Number(process.env["TROUPE_FAIR"] ?? 300);
const TIMES = 15;

const ANN: Principal = { id: "ann", owner: "acme", roles: ["user"] };
const BOB: Principal = { id: "bob", owner: "bolt", roles: ["user"] };

const echo = defineAgent({
  name: "echo",
  purpose: "Says something.",
  async chat(input, turn) {
    await turn.text(input);
    await turn.sleep(1);
    return "done";
  },
});

/** How long the first event of a request takes, in milliseconds. */
async function firstEventMs(app: ReturnType<typeof createApp>, user: string): Promise<number> {
  const headers = { "content-type": "application/json", "x-user": user };
  const body = JSON.stringify({ type: "ChatRequest", input: "hello" });
  const began = performance.now();
  const accepted = await app.request("/echo/process", { method: "POST", headers, body });
  const { request_id: id } = (await accepted.json()) as { readonly request_id: string };
  const events = await app.request(`/getevents/${id}?stream=true&since=0`, { headers });
  const reader = events.body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  const took = performance.now() - began;
  expect(value?.length).toBeGreaterThan(0);
  await reader?.cancel();
  return took;
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

test("while one owner has very many requests open, the first event of another one comes nearly as soon as ever", async () => {
  const runtime: Runtime = createRuntime({ agents: [echo], log: sqliteLog(temporaryDirectory()) });
  onTestFinished(() => runtime.close());
  await runtime.ready();
  const app = createApp(runtime, {
    authenticate: (request) => ({ ann: ANN, bob: BOB })[request.headers.get("x-user") ?? ""],
  });
  for (let warm = 0; warm < TIMES; warm += 1) await firstEventMs(app, "bob");
  const idle: number[] = [];
  for (let count = 0; count < TIMES; count += 1) idle.push(await firstEventMs(app, "bob"));

  const own = runtime.as(ANN);
  const sent = Promise.all(
    Array.from({ length: MANY }, () => own.process("echo", { type: "ChatRequest", input: "again" })),
  );
  const busy: number[] = [];
  for (let count = 0; count < TIMES; count += 1) busy.push(await firstEventMs(app, "bob"));
  await sent;
  const ratio = medianOf(busy) / medianOf(idle);
  console.log(
    `first event: idle ${medianOf(idle)} ms, busy ${medianOf(busy)} ms, worst ${Math.max(...busy)} ms, ${ratio}`,
  );
  expect(ratio).toBeLessThan(2);
});
