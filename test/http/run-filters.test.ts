import { createRuntime, defineAgent, memoryLog } from "troupe";
import type { EventLog } from "troupe";
import { createApp } from "troupe/http";
import { expect, onTestFinished, test } from "vitest";
import type { RunRow } from "../../src/ports/log-batch.ts";
import type { RunEntry } from "../../src/ports/log-entries.ts";
import { collect } from "troupe/testing";
import { startApp } from "./server.ts";

const picky = defineAgent({
  name: "picky",
  purpose: "Fails for a 0.",
  chat(input) {
    if (input === "0") throw new Error("0 is not allowed here");
    return input;
  },
});

test("runs are selected by error, metadata and time, from both ends, and counted", async () => {
  await using server = await startApp({}, [picky]);
  const { app, runtime } = server;
  const ask = async (query: string): Promise<{ rows: Row[]; headers: Headers; status: number }> => {
    const response = await app.fetch(new Request(`http://localhost/runs?${query}`));
    return {
      rows: response.ok ? ((await response.json()) as Row[]) : [],
      headers: response.headers,
      status: response.status,
    };
  };
  const made: string[] = [];
  for (const [at, input] of ["1", "0", "2"].entries()) {
    const runId = await runtime.createRun("picky", {
      metadata: { customer: at === 2 ? "ann" : "bob", vip: true },
    });
    made.push(runId);
    await collect(runtime, "picky", { type: "ChatRequest", input, run_id: runId });
  }
  const ids = async (query: string): Promise<unknown[]> => (await ask(query)).rows.map((row) => row.run_id);

  const [failed] = (await ask("error_code=agent_error")).rows;
  expect(failed?.last_turn).toMatchObject({
    error_code: "agent_error",
    error_message: expect.stringContaining("0 is not allowed here") as string,
  });
  expect(failed?.last_turn).not.toHaveProperty("result");
  const [two] = (await ask("metadata=customer%3Dann")).rows;
  expect(two?.last_turn).toMatchObject({ finish_reason: "success", result: "2" });
  expect(await ids("metadata=customer%3Dann")).toEqual(made.slice(2));
  expect(await ids("metadata=vip%3Dtrue")).toHaveLength(3);
  expect(await ids("order=oldest")).toEqual((await ids("")).toReversed());
  expect(await ids("updated_after=2999-01-01T00:00:00Z")).toEqual([]);
  expect(await ids("updated_after=2000-01-01T00:00:00Z")).toHaveLength(3);
  expect((await ask("total=true&limit=1")).headers.get("total-count")).toBe("3");
  expect((await ask("total=all&limit=1")).headers.get("total-count")).toBe("3");
  expect((await ask("total=false&limit=1")).headers.get("total-count")).toBeNull();
  for (const wrong of [
    "updated_after=soon",
    // `Date` reads both as a time in 2001.
    "updated_after=1",
    "updated_after=day 1",
    "metadata=ann",
    "order=best",
    "total=some",
    "stream=true&total=true",
  ])
    expect((await ask(wrong)).status).toBe(400);
});

test("10,000 runs are counted, and each one when all are asked for", async () => {
  const log = memoryLog();
  const runtime = createRuntime({ agents: [picky], log });
  onTestFinished(() => runtime.close());
  const app = createApp(runtime, {});
  const { runId: _, head: __, ...row } = (await log.run(await runtime.createRun("picky", {}))) as RunEntry;
  for (let made = 1; made < 10_000; made += 1) await addRun(log, `run_${made}`, row);
  const count = async (total: string): Promise<string | null> => {
    const response = await app.fetch(new Request(`http://localhost/runs?limit=1&total=${total}`));
    return response.headers.get("total-count");
  };
  expect(await count("true")).toBe("10000");
  await addRun(log, "run_10000", row);
  expect(await count("true")).toBe("10000+");
  expect(await count("all")).toBe("10001");
});

async function addRun(log: EventLog, runId: string, row: RunRow): Promise<void> {
  const { cursor } = await log.claim(runId);
  log.release(await log.append(cursor, { events: [], records: [], run: row }));
}

test("the beginning of a result does not end in half of a character", async () => {
  await using server = await startApp({}, [picky]);
  await collect(server.runtime, "picky", { type: "ChatRequest", input: `a${"🙂".repeat(60)}` });
  const response = await server.app.fetch(new Request("http://localhost/runs"));
  const [row] = (await response.json()) as Row[];
  expect(row?.last_turn).toMatchObject({ result: `a${"🙂".repeat(39)}` });
});

interface Row {
  readonly run_id: string;
  readonly last_turn?: object;
}
