import { defineAgent } from "troupe";
import { expect, test } from "vitest";
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
  for (const wrong of ["updated_after=soon", "metadata=ann", "order=best", "stream=true&total=true"])
    expect((await ask(wrong)).status).toBe(400);
});

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
