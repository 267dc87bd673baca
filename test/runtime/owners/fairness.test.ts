import { createRuntime, defineAgent } from "troupe";
import type { Principal } from "troupe";
import { createApp } from "troupe/http";
import { sqliteLog } from "troupe/storage/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { temporaryDirectory } from "../../storage/directories.ts";

/** How many requests one owner sends at once. `TROUPE_FAIR=10000` is the whole of it, and says how long the other one waits. */
const WHOLE = process.env["TROUPE_FAIR"];
const MANY = Number(WHOLE ?? 2_000);

const ANN: Principal = { id: "ann", owner: "acme", roles: ["user"] };
const BOB: Principal = { id: "bob", owner: "bolt", roles: ["user"] };

const echo = defineAgent({ name: "echo", purpose: "Repeats.", chat: (input) => input });

type App = ReturnType<typeof createApp>;

function ask(app: App, user: string): Response | Promise<Response> {
  return app.request("/echo/process", {
    method: "POST",
    headers: { "content-type": "application/json", "x-user": user },
    body: JSON.stringify({ type: "ChatRequest", input: "hello" }),
  });
}

/** Resolves with how long it took when the first event of a request has come, in milliseconds. */
async function firstEventMs(app: App, user: string): Promise<number> {
  const began = performance.now();
  const { request_id: id } = (await (await ask(app, user)).json()) as { readonly request_id: string };
  const headers = { "x-user": user };
  const events = await app.request(`/getevents/${id}?stream=true&since=0`, { headers });
  const reader = events.body?.getReader();
  const first = await reader?.read();
  const tookMs = performance.now() - began;
  expect(first?.done).toBe(false);
  await reader?.cancel();
  return tookMs;
}

test("an owner that sends very many requests does not have those of another one wait for all of them", async () => {
  const runtime = createRuntime({ agents: [echo], log: sqliteLog(temporaryDirectory()) });
  onTestFinished(() => runtime.close());
  await runtime.ready();
  const app = createApp(runtime, {
    authenticate: (request) => ({ ann: ANN, bob: BOB })[request.headers.get("x-user") ?? ""],
  });
  await firstEventMs(app, "bob");
  const idleMs = await firstEventMs(app, "bob");

  let open = MANY;
  const sent = Promise.all(
    Array.from({ length: MANY }, async () => {
      const response = await ask(app, "ann");
      open -= 1;
      return response.status;
    }),
  );
  const busyMs = await firstEventMs(app, "bob");
  if (WHOLE !== undefined)
    console.log(`the first event: ${idleMs} ms, and ${busyMs} ms; ${open} of ${MANY} were open`);
  expect(open).toBeGreaterThan(MANY / 2);
  expect(new Set(await sent)).toEqual(new Set([202]));
});
