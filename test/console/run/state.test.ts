import type { Page } from "playwright-core";
import type { Event } from "troupe/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { useBrowser } from "../harness/browser.ts";
import { shop } from "../harness/machine.ts";
import { startConsole } from "../harness/server.ts";
import type { ConsoleServer } from "../harness/server.ts";

let server: ConsoleServer;
beforeAll(async () => {
  server = await startConsole([shop]);
});
afterAll(() => server[Symbol.asyncDispose]());

const open = useBrowser();
const atRest = { wait: "completed" };

test(
  "memory, mailbox and prompts of a run are those as of the chosen event",
  { tags: "long" },
  async ({ skip }) => {
    const { run_id: runId } = await server.start("assistant", "what is 6 / 3", atRest);
    const more = { run_id: runId, ...atRest };
    await server.start("assistant", "and pay bob that much, what is 1 + 1", more);
    const { request_id: queued } = await server.start("assistant", "later", {
      run_id: runId,
      on_busy: "enqueue",
    });
    const { events } = await server.runtime.read({ kind: "run", runId, agent: "assistant" }, { after: 0 });
    const ends = events.flatMap((text) => {
      const { id, type, depth } = JSON.parse(text) as { id: number; type: string; depth: number };
      return type === "RequestCompleted" && depth === 0 ? [id] : [];
    });
    const [end = 0] = ends;

    await using tab = await open(skip, `${server.url}/#/runs/${runId}/state`);
    const { page } = tab;
    await part(page, "Mailbox").getByText(queued).waitFor();
    await part(page, "Memory").getByText("6 / 3 is 2.").waitFor();
    const prompt = part(page, "Prompt");
    await prompt.getByText("You are a friendly assistant.").waitFor();
    // What the prompt before had is closed.
    expect(await prompt.getByText("what is 6 / 3", { exact: true }).isVisible()).toBe(false);
    await prompt.getByText("of the prompt before").click();
    await prompt.getByText("what is 6 / 3", { exact: true }).waitFor();
    await prompt.getByText("pay bob that much").waitFor();

    await prompt.getByLabel("Completion").selectOption({ index: 0 });
    await expect.poll(() => page.url()).toContain("completion=");
    await prompt.getByText("pay bob that much").waitFor({ state: "detached" });
    await page.reload();
    await prompt.getByText("what is 6 / 3", { exact: true }).waitFor();

    await page.evaluate(`location.hash = "#/runs/${runId}/state?at=${end}"`);
    await page.getByText(`As of event ${end}.`).waitFor();
    const memory = part(page, "Memory");
    await memory.locator("[data-change=new]").first().waitFor();
    await memory.getByText("6 / 3 is 2.").waitFor();
    await part(page, "Mailbox").getByText("Nothing waits").waitFor();
    await page.getByRole("slider").focus();
    await page.keyboard.press("ArrowLeft");
    await memory.getByText("No agent has remembered anything.").waitFor();
    await page.getByText(`As of event ${end - 1}.`).waitFor();

    // Of one actor, only its own state.
    const call = events.map((text) => JSON.parse(text) as Event).find(({ type }) => type === "ToolCall");
    const actor = call?.type === "ToolCall" ? `${call.request_id}/${call.tool_call_id}` : "";
    await page.evaluate(`location.hash = "#/runs/${runId}/state?at=${end}&actor=${actor}"`);
    await memory.getByText("It has remembered nothing.").waitFor();
    expect(await prompt.count()).toBe(0);
  },
);

test("a completion in the timeline leads to what it was asked", { tags: "long" }, async ({ skip }) => {
  const { run_id: runId } = await server.start("assistant", "what is 8 / 2", atRest);
  await using tab = await open(skip, `${server.url}/#/runs/${runId}/timeline`);
  const { page } = tab;
  await page.locator("[data-call]").nth(1).click();
  await page.getByRole("link", { name: "What it was asked" }).click();
  await expect.poll(() => page.url()).toContain("/state?completion=");
  await part(page, "Prompt").getByText("what is 8 / 2", { exact: true }).waitFor();
});

test(
  "the context of a machine follows the scrubber, and shows no secret",
  { tags: "long" },
  async ({ skip }) => {
    const { run_id: runId, request_id: id } = await server.start("shop", "a lamp", atRest);
    await using tab = await open(skip, `${server.url}/#/runs/${runId}/state`);
    const { page } = tab;
    const machines = part(page, "Machines");
    await machines.getByText("asking").waitFor();
    await machines.getByText('"on account"').waitFor();
    await machines.getByText('"[secret]"').waitFor();
    expect(await page.getByText("tok-1234").count()).toBe(0);
    await server.runtime.process("shop", {
      type: "ResumeWithInput",
      request_id: id,
      request_keys: { sure: true },
    });
    await machines.getByText("done").waitFor();
    await page.getByRole("slider").focus();
    await page.keyboard.press("Shift+ArrowLeft");
    await page.getByText("As of event 1.").waitFor();
    await machines.waitFor({ state: "detached" });
  },
);

function part(page: Page, name: string): ReturnType<Page["getByRole"]> {
  return page.getByRole("region", { name, exact: true });
}
