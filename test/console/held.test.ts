import { createRuntime, defineAgent, memoryLog, ModelError } from "troupe";
import type { Agent, Model } from "troupe";
import { expect, test } from "vitest";
import { beginTurn, createClerk } from "../agents/clerk.ts";
import type { Clerk, LeftTurn } from "../agents/clerk.ts";
import { press, settle, useBrowser } from "./harness/browser.ts";
import { startConsole } from "./harness/server.ts";
import type { ConsoleServer } from "./harness/server.ts";

const open = useBrowser();

interface Held extends AsyncDisposable, LeftTurn {
  readonly clerk: Clerk;
  readonly server: ConsoleServer;
}

/** A console beside a turn that is held since the first of its two questions was answered. */
async function holdTurn(): Promise<Held> {
  const clerk = createClerk();
  const left = await beginTurn(clerk);
  clerk.isChanged = true;
  const server = await startConsole([clerk.agent], { log: left.log });
  await server.runtime.process("clerk", {
    type: "ResumeWithInput",
    request_id: left.requestId,
    wait_id: 2,
    request_keys: { name: "Ada" },
  });
  return { ...left, clerk, server, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

test("a held turn stands in the Inbox with its place, takes an answer there, and continues when it is tried again", async ({
  skip,
}) => {
  await using held = await holdTurn();
  const { server, runId, requestId, clerk } = held;
  await using tab = await open(skip, `${server.url}/#/inbox`);
  const { page } = tab;
  await expect.poll(() => page.title()).toBe("(2) troupe");
  await press(page.getByRole("button", { name: /held: nondeterministic/ }));
  const box = page.getByRole("region", { name: "Held turn" });
  await box.getByText("clerk is held").waitFor();
  await expect.poll(() => page.evaluate("document.activeElement.ariaLabel")).toBe("Held turn");
  for (const place of ['wait for {"name":"What is your name?"}', 'text "One moment."', /clerk\.ts:\d+/])
    await box.getByText(place).first().waitFor();

  await press(box.getByRole("button", { name: "Try again" }));
  await box.getByText("It stays held while no code that is served fits.").waitFor();
  expect(await server.runtime.status(requestId)).toMatchObject({ status: "held" });

  await page.getByRole("button", { name: "What is your favourite colour?" }).click({ trial: true });
  const question = page.getByRole("group", { name: "clerk asks" });
  await question.getByLabel("What is your favourite colour?").fill("blue");
  await press(question.getByRole("button", { name: "Answer" }));
  await page.getByRole("group", { name: "clerk asked" }).getByText("blue").waitFor();
  expect(await server.runtime.status(requestId)).toMatchObject({ status: "held" });

  clerk.isChanged = false;
  await press(box.getByRole("button", { name: "Try again" }));
  await page.getByText("No turn of this run is held now.").waitFor();
  await expect.poll(() => page.title()).toBe("troupe");
  expect(await server.runtime.status(requestId)).toMatchObject({ result: "Ada likes blue." });
  expect((await server.runtime.run(runId)).status).toBe("idle");
});

test(
  "the page of a run says that its turn is held, and ends it by the keyboard",
  { tags: "long" },
  async ({ skip }) => {
    await using held = await holdTurn();
    const { server, runId, requestId } = held;
    await using tab = await open(skip, `${server.url}/#/runs/${runId}`);
    const { page } = tab;
    const box = page.getByRole("region", { name: "Held turn" });
    await box.getByText("clerk is held").waitFor();
    await page.locator(".run-header").getByText("held: nondeterministic").first().waitFor();
    // A reader of the page hears it without looking for it.
    await page.getByRole("status").filter({ hasText: "clerk is held:" }).waitFor({ state: "attached" });
    const end = box.getByRole("button", { name: "End with its error" });
    await settle(end);
    await box.getByRole("button", { name: "Try again" }).focus();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await box.waitFor({ state: "detached" });
    await page.locator(".run-header").getByText("nondeterministic").first().waitFor();
    expect(await server.runtime.status(requestId)).toMatchObject({
      finish_reason: "error",
      error: { code: "nondeterministic" },
    });
  },
);

test("a held turn is forked into the code that is served", { tags: "long" }, async ({ skip }) => {
  await using held = await holdTurn();
  const { server, runId } = held;
  await using tab = await open(skip, `${server.url}/#/runs/${runId}`);
  const { page } = tab;
  await press(
    page.getByRole("region", { name: "Held turn" }).getByRole("button", { name: "Fork before it" }),
  );
  await page.getByText("Nothing was said yet.").waitFor();
  await expect.poll(() => page.getByLabel("Message to clerk").inputValue()).toBe("go");
  await press(page.getByRole("button", { name: "Send" }));
  await page.getByRole("log").getByText("One moment.").waitFor();
  expect(page.url()).not.toContain(runId);
  expect((await server.runtime.run(runId)).status).toBe("held");
});

test(
  "a held turn is forked at its question, which the code that is served asks anew",
  { tags: "long" },
  async ({ skip }) => {
    const asker = (question: string, version: string): Agent =>
      defineAgent({
        name: "asker",
        purpose: "Asks.",
        version,
        async chat(_input, turn) {
          await turn.text("Before the question.");
          const { ok } = await turn.waitForInput({ ok: question });
          return `You said ${JSON.stringify(ok)}.`;
        },
      });
    const log = { ...memoryLog(), close: async () => {} };
    const first = createRuntime({ agents: [asker("Is it so?", "1")], log });
    const receipt = await first.process("asker", { type: "ChatRequest", input: "go" });
    await first.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
    await first.close();
    await using server = await startConsole([asker("Is it really so?", "2")], { log });
    const { requestId: request_id } = receipt;
    const runId = receipt.runId ?? "";
    await server.runtime.process("asker", {
      type: "ResumeWithInput",
      request_id,
      request_keys: { ok: "yes" },
    });
    await using tab = await open(skip, `${server.url}/#/runs/${runId}`);
    const { page } = tab;
    const box = page.getByRole("region", { name: "Held turn" });
    await press(box.getByRole("button", { name: "Fork at its question" }));
    await page.getByText("Is it really so?").first().waitFor();
    await page.getByRole("log").getByText("Before the question.").waitFor();
    expect(page.url()).not.toContain(runId);
    expect((await server.runtime.run(runId)).status).toBe("held");
  },
);

test(
  "the page of a run says that a model is away, and when it is asked again",
  { tags: "long" },
  async ({ skip }) => {
    const model: Model = {
      name: "far",
      // oxlint-disable-next-line require-yield -- It never answers.
      async *generate() {
        throw new ModelError("HTTP 503", { code: "model_unavailable", retryAfterMs: 600_000 });
      },
    };
    const talker = defineAgent({
      name: "talker",
      purpose: "Lets a model talk.",
      chat: async (input, turn) => void (await turn.complete({ model, input })),
    });
    await using server = await startConsole([talker]);
    const { run_id: runId } = await server.start("talker", "hello");
    await using tab = await open(skip, `${server.url}/#/runs/${runId}`);
    const { page } = tab;
    await page
      .locator(".run-header")
      // With the day before it, if that is tomorrow.
      .getByText(/^far is away, next try (.+, )?\d\d:\d\d:\d\d$/)
      .waitFor();
    expect((await server.runtime.run(runId)).status).toBe("running");
  },
);
