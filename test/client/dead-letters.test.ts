import { createClient } from "troupe/client";
import { expect, test } from "vitest";
import { createWorkshop } from "../agents/letters.ts";
import { start } from "./servers.ts";

test("dead letters are listed, sent again once, and dismissed", async () => {
  const workshop = createWorkshop();
  await using server = await start({ agents: workshop.agents });
  const client = createClient(server.url);
  for (const item of ["a lamp", "a chair"]) await client.agent("boss").call("order", { item });
  await expect.poll(async () => (await client.deadLetters()).length).toBe(2);
  const [first, second] = (await client.deadLetters()).toSorted((a, b) => (a.at < b.at ? -1 : 1));
  if (first === undefined || second === undefined) throw new Error("there are no two letters");
  expect(first).toMatchObject({
    kind: "failed",
    agent: "worker",
    key: "w",
    operation: "work",
    sender: { agent: "boss" },
    error: { message: "the tool broke" },
  });
  workshop.isBroken = false;
  const run = client.run(first.run_id);
  const id = await run.sendAgain(first.request_id);
  expect(await run.sendAgain(first.request_id)).toBe(id);
  await client.request(id);
  expect(workshop.works).toBe(1);
  await run.dismiss(second.request_id);
  await run.dismiss(second.request_id);
  expect(await client.deadLetters()).toEqual([]);
  await expect(run.sendAgain("never")).rejects.toMatchObject({ code: "not_found" });
});

test("a stopped actor is resumed", async () => {
  await using server = await start({ agents: createWorkshop().agents });
  const client = createClient(server.url);
  const call = client.agent("boss").call("order", { item: "a lamp" });
  await call;
  await expect(client.run(await call.runId).resume()).rejects.toMatchObject({ code: "conflict" });
});
