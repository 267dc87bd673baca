import { defineAgent } from "troupe";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { press, useBrowser } from "./harness/browser.ts";
import { startConsole } from "./harness/server.ts";
import type { ConsoleServer } from "./harness/server.ts";

const meter = defineAgent({
  name: "meter",
  purpose: "Adds up values.",
  memorySchema: z.object({ sum: z.number() }).default({ sum: 0 }),
  expireMs: 3_600_000,
  operations: (operation) => ({
    add: operation({
      input: z.object({ value: z.number() }),
      run({ value }, turn): number {
        const { sum } = turn.memory.get();
        turn.memory.set({ sum: sum + value });
        return sum + value;
      },
    }),
    ask: operation({
      input: z.object({}),
      run: async (_input, turn) => (await turn.waitForInput(z.object({ note: z.string() }))).note,
    }),
  }),
});

let server: ConsoleServer;
beforeAll(async () => {
  server = await startConsole([meter]);
});
afterAll(() => server[Symbol.asyncDispose]());

const open = useBrowser();

async function ask(key: string, operation: string, input: object): Promise<string> {
  const body = { type: "OperationRequest", operation, input, key, on_busy: "enqueue" };
  const answer = await fetch(`${server.url}/meter/process`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return ((await answer.json()) as { readonly run_id: string }).run_id;
}

test("an actor is found by its key, looked into, and sent to; what it gets waits in its mailbox", async ({
  skip,
}) => {
  await using tab = await open(skip, `${server.url}/#/actors`);
  const { page } = tab;
  await page.getByText("No actor is in memory").waitFor();
  await ask("roof", "add", { value: 4 });
  await ask("kitchen", "ask", {});
  await server.runtime.schedules.make("meter", {
    key: "roof",
    operation: "add",
    input: { value: 1 },
    every_ms: 7_200_000,
  });

  const list = page.getByRole("list", { name: "Actors" });
  await list.getByRole("button", { name: /waiting.*meter.*kitchen/ }).waitFor();
  const roof = list.getByRole("button", { name: /idle.*meter.*roof/ });
  // Removed in an hour, if nothing comes.
  await roof.getByText(/in 59 min|in 1 h/).waitFor();
  await page.getByLabel("Search by key").fill("roo");
  await expect.poll(() => list.getByRole("listitem").count()).toBe(1);
  await roof.click();
  const detail = page.getByRole("region", { name: "Actor", exact: true });
  await detail.getByRole("heading", { name: "roof" }).waitFor();
  await detail.getByRole("region", { name: "Memory" }).getByText("4", { exact: true }).waitFor();
  await detail.getByRole("region", { name: "Schedules" }).getByText("every 7200 s").waitFor();

  await detail.getByLabel("Operation").selectOption("add");
  await detail.getByLabel("value").fill("3");
  await press(detail.getByRole("button", { name: "Send" }));
  await detail.getByRole("region", { name: "Memory" }).getByText("7", { exact: true }).waitFor();
  expect((await server.runtime.runs({ agent: "meter", limit: 9 })).runs).toHaveLength(2);

  await page.getByRole("button", { name: "Clear" }).click();
  await list.getByRole("button", { name: /kitchen/ }).click();
  await detail.getByLabel("Operation").selectOption("add");
  await detail.getByLabel("value").fill("5");
  await press(detail.getByRole("button", { name: "Send" }));
  const mailbox = detail.getByRole("region", { name: "Mailbox" });
  await mailbox.getByText('{"value":5}').waitFor();
  await list.getByRole("button", { name: /kitchen.*1.*in the mailbox/ }).waitFor();
});

test(
  "the cards of agents show how their newest runs ended, and lead to the agent",
  { tags: "long" },
  async ({ skip }) => {
    await ask("roof", "add", { value: 1 });
    await server.start("echo", "hello", { wait: "completed" });
    await using tab = await open(skip, `${server.url}/#/agents`);
    const { page } = tab;
    const card = page.getByRole("article", { name: "echo" });
    await card.getByText("none of 1 failed").waitFor();
    await card.getByRole("img", { name: "The last 1 turns that ended, 0 of them failed" }).waitFor();
    await page.getByRole("article", { name: "meter" }).getByText("1 schedule, next in").waitFor();
    await page.getByLabel("Search agents").fill("repeats");
    await expect.poll(() => page.getByRole("article").count()).toBe(1);
    await card.getByRole("link", { name: "echo" }).click();
    await page.getByRole("heading", { level: 1, name: "echo" }).waitFor();
  },
);
