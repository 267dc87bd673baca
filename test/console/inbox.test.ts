import { defineAgent } from "troupe";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { press, useBrowser } from "./harness/browser.ts";
import { startConsole } from "./harness/server.ts";
import type { ConsoleServer } from "./harness/server.ts";

/** Asks a question that only managers answer. */
const clerk = defineAgent({
  name: "clerk",
  purpose: "Asks managers.",
  async chat(input, turn) {
    const question = z.object({ agreed: z.boolean().describe(`Refund ${input}?`) });
    return String((await turn.waitForInput(question, { approvers: ["manager"] })).agreed);
  },
});

let server: ConsoleServer;
beforeAll(async () => {
  server = await startConsole([clerk]);
});
afterAll(() => server[Symbol.asyncDispose]());

const open = useBrowser();
const atRest = { wait: "completed" };

test("a question of a called agent is counted in the title, answered in the Inbox, and gone", async ({
  skip,
}) => {
  const { request_id: id } = await server.start("assistant", "what is 6 / 3, and pay bob that much", atRest);
  await using tab = await open(skip, `${server.url}/#/inbox`);
  const { page } = tab;
  await page.getByRole("region", { name: "Question" }).getByText("Pay 2 to bob?").waitFor();
  await expect.poll(() => page.title()).toBe("(1) troupe");
  await press(page.getByRole("button", { name: "Yes" }));
  // It stays with its answer until it is left.
  await page.getByRole("region", { name: "Question" }).getByText("Yes", { exact: true }).waitFor();
  await page.getByText("0 open").waitFor();
  await page.getByRole("link", { name: "Runs" }).click();
  await page.getByRole("link", { name: "Inbox" }).click();
  await page.getByText("No agent waits for an answer").waitFor();
  await expect.poll(() => page.title()).toBe("troupe");
  await expect.poll(async () => (await server.runtime.status(id)).status).toBe("completed");
});

test(
  "the queue says who may answer, is narrowed by agent and role, and goes on to the next one",
  { tags: "long" },
  async ({ skip }) => {
    const started = [
      await server.start("payments", "pay 5 to ann", atRest),
      await server.start("clerk", "ann", atRest),
      await server.start("clerk", "bob", atRest),
    ];
    await using tab = await open(skip, `${server.url}/#/inbox`);
    const { page } = tab;
    const queue = page.getByRole("list", { name: "Questions" });
    const question = page.getByRole("region", { name: "Question" });
    await queue.getByText("clerk · for manager").first().waitFor();
    await question.getByText("Pay 5 to ann?").waitFor();

    await page.getByLabel("Agent").selectOption("clerk");
    await question.getByText("Refund ann?").waitFor();
    await question.getByText("For manager to answer").waitFor();
    expect(await queue.getByRole("listitem").count()).toBe(2);
    expect(page.url()).toContain("agent=clerk");
    await press(page.getByRole("button", { name: "Leave it, show the next one" }));
    await question.getByText("Refund bob?").waitFor();

    // What everybody may answer is for a manager too.
    await page.getByLabel("Agent").selectOption("");
    await page.getByLabel("Who may answer").fill("manager");
    await page.getByLabel("Who may answer").press("Enter");
    await expect.poll(() => queue.getByRole("listitem").count()).toBe(3);
    await queue.getByRole("button").first().focus();
    await page.keyboard.press("ArrowDown");
    await queue.getByRole("button").nth(1).and(page.locator(":focus")).waitFor();
    for (const [at, { request_id: id }] of started.entries()) {
      await server.runtime.process(at === 0 ? "payments" : "clerk", {
        type: "CancelRequest",
        request_id: id,
      });
    }
    await page.getByText("0 open").waitFor();
  },
);

test(
  "the lists are read when a run changes, and not while nothing happens",
  { tags: "long" },
  async ({ skip }) => {
    await using tab = await open(skip, `${server.url}/#/health`);
    const { page } = tab;
    await page.clock.install();
    await page.goto(`${server.url}/#/runs`);
    await page.reload();
    let readings = 0;
    page.on("request", (request) => {
      if (/\/(?:waits|runs)\?limit=/.test(request.url())) readings += 1;
    });
    const list = page.getByRole("list", { name: "Runs" });
    await list.waitFor();
    // The new connection causes a reading, at most a second after the one before.
    await page.clock.runFor(3_000);
    await page.evaluate("fetch('./healthz')");
    const before = readings;
    await page.clock.fastForward(30_000);
    await page.evaluate("fetch('./healthz')");
    expect(readings).toBe(before);

    const { run_id: runId, request_id: id } = await server.start("payments", "pay 70 to zoe", atRest);
    await list.getByText("pay 70 to zoe").waitFor();
    await expect.poll(() => page.title()).toBe("(1) troupe");
    await server.runtime.process("payments", { type: "CancelRequest", request_id: id });
    await server.runtime.removeRun(runId);
    await expect.poll(() => page.title()).toBe("troupe");
    await list.getByText("pay 70 to zoe").waitFor({ state: "detached" });
  },
);
