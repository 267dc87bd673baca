/** @module-tag long */
import { createRuntime, defineAgent } from "troupe";
import { nodeEnvironment, serve } from "troupe/node";
import { postgresLog } from "troupe/postgres";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { agentRoutes, serverRoutes } from "../../../src/protocol/routes.ts";
import { needsPostgres, postgresUrl } from "../../machine/postgres.ts";
import { events, nextEvents, asRunId, startRun } from "../../../src/testing/event-log/subject.ts";
import { newSchema, openEmpty, openProxy } from "./logs.ts";

needsPostgres();

/** Shorter than the default, which is how long a request may wait. */
const SETTLE_MS = 3_000;

/** Routes that need no database. */
const OWN = new Set(["agents", "openApi", "schema", "health", "metrics", "describe"]);

const asker = defineAgent({
  name: "asker",
  purpose: "Asks twice.",
  config: z.object({}),
  async chat(_input, turn) {
    for (const question of ["Name?", "City?"]) {
      const { answer } = await turn.waitForInput({ answer: question });
      await turn.text(`${answer as string}.`);
    }
  },
});

test("a database that answers nothing makes every route refuse in time, and the server ready again when it is back", async () => {
  const proxy = await openProxy(await postgresUrl());
  const url = await start(proxy.url);
  const ask = (path: string, body: object): Promise<Response> =>
    fetch(`${url}${path}`, { method: "POST", body: JSON.stringify(body), headers: JSON_TYPE });
  const begun = await ask("/asker/process", { type: "ChatRequest", input: "hi", request_id: "known" });
  expect(begun.status).toBeLessThan(300);
  const readiness = async (): Promise<number> => (await fetch(`${url}/readyz`)).status;
  const question = async (): Promise<string> => (await fetch(`${url}/request/known`)).text();
  await expect.poll(question).toContain("Name?");
  const run = (JSON.parse(await question()) as { readonly run_id: string }).run_id;
  const routes = Object.entries({ ...serverRoutes, ...agentRoutes }).filter(
    ([name]) => !OWN.has(name) && name !== "readiness",
  );
  const refusals = async (): Promise<readonly string[]> =>
    Promise.all(
      routes.map(async ([name, [method, path]]) => {
        const { status, headers } = await send(url, { name, method, path, run });
        return `${name}: ${status}, Retry-After: ${headers.get("retry-after")}`;
      }),
    );
  const refused = routes.map(([name]) => `${name}: 503, Retry-After: 1`);

  proxy.silence();
  // Those that come before the server knows wait for the database, and those that come later do not.
  expect(await refusals()).toEqual(refused);
  await expect.poll(readiness, { timeout: 10_000 }).toBe(503);
  expect(await refusals()).toEqual(refused);
  expect(await (await fetch(`${url}/readyz`)).text()).toMatch(
    /"the database (does not answer in time|cannot be reached)"/,
  );
  expect((await fetch(`${url}/healthz`)).status).toBe(200);

  proxy.mend();
  await expect.poll(readiness, { timeout: 10_000 }).toBe(200);
  for (const answer of ["Bo", "Rome"]) {
    const resume = {
      type: "ResumeWithInput",
      request_id: "known",
      request_keys: { answer },
      resume_id: answer,
    };
    // Sent twice, as after a lost answer.
    for (const _ of [1, 2]) expect((await ask("/asker/process", resume)).status).toBeLessThan(300);
    await expect.poll(question).toContain(answer === "Bo" ? "City?" : "completed");
  }
  const log = await (await fetch(`${url}/getevents?run_id=${run}&since=0`)).text();
  expect(log.match(/"content": ?"\w+\."/g)).toEqual(['"content":"Bo."', '"content":"Rome."']);
});

test(
  "what waits for a silent database is done once when it is back, also if the old connections stay silent",
  { tags: "long" },
  async () => {
    const proxy = await openProxy(await postgresUrl());
    const log = await openEmpty({ url: proxy.url });
    onTestFinished(() => log.close());
    const cursor = await startRun(log, "run", 1);
    log.release(await startRun(log, "other", 2));
    proxy.silence();
    const appended = log.append(cursor, nextEvents(cursor, 2));
    const read = log.read(asRunId("other"), { after: 0 });
    await expect.poll(() => log.health().writable, { timeout: 10_000 }).toBe(false);
    proxy.mendForNew();
    expect(await appended).toMatchObject({ head: 3 });
    expect((await read).events).toEqual(events(1, 2));
    expect((await log.read(asRunId("run"), { after: 0, records: true })).events).toEqual(events(1, 3));
    await expect.poll(() => log.health().writable).toBe(true);
  },
);

test.for(["cut", "silence"] as const)(
  "a database owes an answer for as long as it gives none, after a %s",
  { tags: "long" },
  async (fault) => {
    const proxy = await openProxy(await postgresUrl());
    const log = await openEmpty({ url: proxy.url });
    onTestFinished(() => log.close());
    const cursor = await startRun(log, "run", 1);
    const owedMs = (): number | undefined => log.nodes?.().owedMs?.();
    await expect.poll(owedMs).toBe(0);
    proxy[fault]();
    const appended = log.append(cursor, nextEvents(cursor, 2));
    await expect.poll(owedMs, { timeout: 10_000 }).toBeGreaterThan(1_000);
    proxy.mend();
    await appended;
    await expect.poll(owedMs).toBe(0);
  },
);

const JSON_TYPE = { "content-type": "application/json" };

interface Sent {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly run: string;
}

/** The bodies of routes that take no request of an agent. */
const bodies = (run: string): { readonly [name: string]: object } => ({
  configure: { run_id: run, args: {} },
  forkRun: { after: 1 },
  erase: { owner: "nobody" },
  createAnswerLink: { request_id: "known" },
  openTopic: { name: "news" },
  publish: { name: "told", body: null },
  makeSchedule: { run_id: run, operation: "chat", input: { input: "hi" }, after_ms: 1_000 },
});

/** Sends a valid request for a route. */
function send(url: string, { name, method, path, run }: Sent): Promise<Response> {
  const filled = path
    .replace("{run_id}", run)
    .replace("{request_id}", "known")
    .replace("{schedule_id}", `sch_${"a".repeat(32)}`)
    .replace("{topic}", "news")
    .replace("{id}", run)
    .replace("{artifact_id}", "a".repeat(64));
  const query =
    name === "events" || name === "getEvents" ? `?run_id=${run}` : name === "upload" ? "?name=f" : "";
  const body =
    name === "upload" ? "bytes" : JSON.stringify(bodies(run)[name] ?? { type: "ChatRequest", input: "hi" });
  return fetch(`${url}${filled}${query}`, {
    method,
    ...(method === "POST" && {
      body,
      headers: name === "upload" ? { "content-type": "text/plain" } : JSON_TYPE,
    }),
  });
}

/** Serves the agent from a database, for the rest of the test. */
async function start(database: string): Promise<string> {
  const log = await postgresLog({
    url: database,
    schema: newSchema(),
    nodes: "one",
    max: 3,
    settleMs: SETTLE_MS,
  });
  const runtime = createRuntime({ agents: [asker], log, environment: nodeEnvironment() });
  const server = await serve(runtime, { port: 0 });
  onTestFinished(() => server.close());
  return server.url;
}
