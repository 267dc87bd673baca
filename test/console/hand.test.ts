import { defineAgent, operation } from "troupe";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { press, settle, submit, useBrowser } from "./harness/browser.ts";
import { startConsole } from "./harness/server.ts";
import type { ConsoleServer } from "./harness/server.ts";

const vault = defineAgent({
  name: "vault",
  purpose: "Opens with a password.",
  operations: {
    unlock: operation({
      description: "Opens it.",
      input: z.object({ owner: z.string(), password: z.string() }),
      output: z.null(),
      run: () => null,
    }),
  },
});

let server: ConsoleServer;
beforeAll(async () => {
  server = await startConsole([vault]);
});
afterAll(() => server[Symbol.asyncDispose]());

const open = useBrowser();
const atRest = { wait: "completed" };

test(
  "a question that another client answers stays until it is left, and Enter answers no other",
  { tags: "long" },
  async ({ skip }) => {
    const bob = await server.start("payments", "pay 1 to bob", atRest);
    const mallory = await server.start("payments", "pay 9999 to mallory", atRest);
    await using tab = await open(skip, `${server.url}/#/inbox`);
    const { page } = tab;
    await press(page.getByRole("button", { name: "Pay 1 to bob?" }));
    const question = page.getByRole("region", { name: "Question" });
    await question.locator(".question:focus").waitFor();
    await page.keyboard.press("Tab");
    await settle(question.getByRole("button", { name: "Yes" }).and(page.locator(":focus")));

    await answer(bob.request_id, true);
    await question.getByText(/^Answered elsewhere at \d/).waitFor();
    await page.getByText("1 open").waitFor();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    expect(await question.getByText("Pay 1 to bob?").count()).toBeGreaterThan(0);
    expect(await question.getByRole("button", { name: "Yes" }).isDisabled()).toBe(true);
    expect((await server.runtime.status(mallory.request_id)).status).toBe("waiting");

    await press(page.getByRole("button", { name: "Next question" }));
    await question.getByText("Pay 9999 to mallory?").waitFor();
    expect(await page.getByRole("button", { name: "Pay 1 to bob?" }).count()).toBe(0);
    await server.runtime.process("payments", { type: "CancelRequest", request_id: mallory.request_id });
    await question.getByText(/^No longer asked/).waitFor();
  },
);

test(
  "after an answer nothing that acts has the focus, and the next question is not answered with it",
  { tags: "long" },
  async ({ skip }) => {
    const first = await server.start("payments", "pay 1 to ann", atRest);
    const second = await server.start("payments", "pay 2 to eve", atRest);
    await using tab = await open(skip, `${server.url}/#/inbox`);
    const { page } = tab;
    const yes = page.getByRole("region", { name: "Question" }).getByRole("button", { name: "Yes" });
    await settle(yes);
    await yes.focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    await expect.poll(async () => (await server.runtime.status(first.request_id)).status).toBe("completed");
    await page.getByText("1 open").waitFor();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Space");
    expect(await page.evaluate("document.activeElement.matches('button, input, textarea, select, a')")).toBe(
      false,
    );
    expect((await server.runtime.status(second.request_id)).status).toBe("waiting");
    await server.runtime.process("payments", { type: "CancelRequest", request_id: second.request_id });
  },
);

test(
  "a button takes no click, Enter or Space in its first 500 ms, and says so",
  { tags: "long" },
  async ({ skip }) => {
    const { request_id: id, run_id: runId } = await server.start("payments", "pay 3 to bob", atRest);
    await using tab = await open(skip, "about:blank", { others: [server.url] });
    const { page } = tab;
    await page.clock.install();
    await page.goto(`${server.url}/#/runs/${runId}`);
    const yes = page.getByRole("button", { name: "Yes" });
    await yes.waitFor();
    await page.clock.pauseAt(Date.now() + 60_000);
    // The moment from which the buttons are there: the page is shown anew.
    await page.evaluate('location.hash = "#/runs"');
    // The page asks for the list after a pause, which passes only with its clock.
    await expect
      .poll(async () => {
        await page.clock.runFor(20);
        return page.getByRole("list", { name: "Runs" }).count();
      })
      .toBe(1);
    await page.evaluate(`location.hash = "#/runs/${runId}"`);
    await expect
      .poll(async () => {
        await page.clock.runFor(20);
        return yes.count();
      })
      .toBe(1);
    await page.clock.runFor(300);
    await yes.focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Space");
    await yes.click({ force: true });
    await page.getByText("this has only just appeared").waitFor();
    expect((await server.runtime.status(id)).status).toBe("waiting");
    await page.clock.runFor(500);
    await yes.click();
    await expect.poll(async () => (await server.runtime.status(id)).status).toBe("completed");
  },
);

test(
  "a second click on the spot of Stop does not try the turn again, which has moved there",
  { tags: "long" },
  async ({ skip }) => {
    const { run_id: runId, request_id: id } = await server.start("payments", "pay 6 to bob", atRest);
    await using tab = await open(skip, "about:blank", { others: [server.url] });
    const { page } = tab;
    await page.clock.install();
    await page.goto(`${server.url}/#/runs/${runId}`);
    const stop = page.getByRole("button", { name: "Stop" });
    await settle(stop);
    const box = await stop.boundingBox();
    if (box === null) throw new Error("Stop is not shown");
    const spot = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    await page.clock.pauseAt(Date.now() + 60_000);
    let forks = 0;
    page.on("request", (request) => {
      if (request.url().endsWith("/fork")) forks += 1;
    });
    await page.mouse.click(spot.x, spot.y);
    const onSpot = `document.elementFromPoint(${spot.x}, ${spot.y})?.textContent`;
    await expect
      .poll(async () => {
        await page.clock.runFor(20);
        return page.evaluate(onSpot);
      })
      .toBe("Try again");
    await page.mouse.click(spot.x, spot.y);
    await page.getByText("this has only just moved here").waitFor();
    expect(forks).toBe(0);
    await page.clock.runFor(600);
    await page.mouse.click(spot.x, spot.y);
    await expect.poll(() => forks).toBe(1);
    expect((await server.runtime.status(id)).status).toBe("completed");
  },
);

test(
  "an answer that comes after that of another client is not lost without a word",
  { tags: "long" },
  async ({ skip }) => {
    const { run_id: runId, request_id: id } = await server.start("payments", "pay 4 to bob", atRest);
    await using tab = await open(skip, `${server.url}/#/runs/${runId}`, { expected: /409/ });
    const { page } = tab;
    await page.route("**/process", async (route) => {
      await answer(id, false);
      await route.continue();
    });
    await press(page.getByRole("button", { name: "Yes" }));
    await page
      .getByText(/^Answered elsewhere at .+ Your answer was not taken: .+ different answer/)
      .waitFor();
    await page.getByRole("log").getByText("declined").waitFor();
    expect((await server.runtime.status(id)).status).toBe("completed");
  },
);

test(
  "what is written is kept by question, run and agent, also when its place is left and loaded again",
  { tags: "long" },
  async ({ skip }) => {
    const { run_id: asking } = await server.start("interviewer", "hello", atRest);
    const { run_id: talking } = await server.start("echo", "hello", atRest);
    await using tab = await open(skip, server.url);
    const { page } = tab;
    const places = [
      { hash: `#/runs/${asking}`, field: page.getByLabel("What is your name?"), text: "Ada" },
      { hash: `#/runs/${asking}`, field: page.getByLabel("What is your favourite colour?"), text: "green" },
      { hash: `#/runs/${talking}`, field: page.getByLabel("Message to echo"), text: "for the run" },
      { hash: "#/agents/echo", field: page.getByLabel("Message to echo"), text: "for the agent" },
      {
        hash: "#/agents/payments?operation=pay",
        field: page.getByRole("textbox", { name: "to" }),
        text: "eve",
      },
    ];
    for (const { hash, field, text } of places) {
      await page.evaluate(`location.hash = "${hash}"`);
      await field.fill(text);
    }
    for (const reload of [false, true]) {
      for (const { hash, field, text } of places) {
        await page.evaluate(`location.hash = "${hash}"`);
        if (reload) await page.reload();
        await expect.poll(() => field.inputValue()).toBe(text);
      }
    }
    // What was sent is no draft any more.
    await page.evaluate(`location.hash = "#/runs/${talking}"`);
    await submit(page.getByLabel("Message to echo"));
    await page.getByRole("log").getByText("done").nth(1).waitFor();
    await page.reload();
    expect(await page.getByLabel("Message to echo").inputValue()).toBe("");
  },
);

test("a form that asks for a secret is not kept", { tags: "long" }, async ({ skip }) => {
  await using tab = await open(skip, `${server.url}/#/agents/vault?operation=unlock`);
  const { page } = tab;
  await page.getByLabel("password").fill("open-sesame");
  expect(await page.evaluate("JSON.stringify({ ...sessionStorage, ...localStorage })")).not.toContain(
    "sesame",
  );
  await page.evaluate('location.hash = "#/agents/vault"');
  await page.getByLabel("Message to vault").waitFor();
  await page.evaluate('location.hash = "#/agents/vault?operation=unlock"');
  expect(await page.getByLabel("password").inputValue()).toBe("");
});

async function answer(requestId: string, approved: boolean): Promise<void> {
  await server.runtime.process("payments", {
    type: "ResumeWithInput",
    request_id: requestId,
    request_keys: { approved },
  });
}

test("a place that is chosen while the page has just appeared opens", { tags: "long" }, async ({ skip }) => {
  const { run_id: runId } = await server.start("echo", "hello", atRest);
  await using tab = await open(skip, server.url);
  const { page } = tab;
  // As soon as something is there, before the page is painted.
  await page.addInitScript(`new MutationObserver((_, observer) => {
    if (document.querySelector("h1") === null) return;
    observer.disconnect();
    location.hash = "#/runs/${runId}";
  }).observe(document, { childList: true, subtree: true })`);
  await page.reload();
  await page.getByRole("log").getByText("hello").first().waitFor();
  expect(page.url()).toContain(runId);
});
