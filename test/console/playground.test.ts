import { defineAgent } from "troupe";
import { afterAll, beforeAll, expect, test } from "vitest";
import { submit, useBrowser } from "./harness/browser.ts";
import { startConsole } from "./harness/server.ts";
import type { ConsoleServer } from "./harness/server.ts";

/** Says what files it got, and what was asked before. */
const reader = defineAgent({
  name: "reader",
  purpose: "Reads files.",
  async chat(input, turn) {
    const files = await turn.attachments();
    const said = await Promise.all(
      files.map(async (file) => `${file.name}: ${new TextDecoder().decode(await file.bytes())}`),
    );
    return [input, ...said].join(" | ");
  },
});
const loud = defineAgent({ name: "loud", purpose: "Shouts.", chat: (text) => text.toUpperCase() });

let server: ConsoleServer;
beforeAll(async () => {
  server = await startConsole([reader, loud]);
});
afterAll(() => server[Symbol.asyncDispose]());

const open = useBrowser();

test(
  "a message takes files along, from the form of an agent and from the page of a run",
  { tags: "long" },
  async ({ skip }) => {
    await using tab = await open(skip, `${server.url}/#/agents/reader`);
    const { page } = tab;
    const file = (name: string, text: string) => ({
      name,
      mimeType: "text/plain",
      buffer: Buffer.from(text),
    });
    const field = page.getByLabel("Files", { exact: true });
    await page.getByLabel("Message to reader").fill("what is this");
    await field.setInputFiles([file("a.txt", "apples"), file("b.txt", "pears")]);
    const chosen = page.getByRole("list", { name: "Files of the message" });
    await expect.poll(() => chosen.getByText("6 bytes").count()).toBe(1);
    await page.getByRole("button", { name: "Leave b.txt away" }).click();
    await submit(page.getByLabel("Message to reader"));
    const answer = page.getByRole("region", { name: "Answer" });
    await answer.getByText("what is this | a.txt: apples").waitFor();
    expect(await chosen.count()).toBe(0);
    // The chat goes on in its place, in the same run.
    await page.getByLabel("Message to reader").fill("and without a file");
    await submit(page.getByLabel("Message to reader"));
    await answer.getByText("and without a file").nth(1).waitFor();
    expect((await server.runtime.runs({ agent: "reader", limit: 9 })).runs).toHaveLength(1);

    await answer.getByRole("link", { name: "Open the run" }).click();
    await page.getByRole("slider").waitFor();
    await field.setInputFiles(file("c.txt", "plums"));
    await chosen.getByText("5 bytes").waitFor();
    await page.getByLabel("Message to reader").fill("once more");
    await submit(page.getByLabel("Message to reader"));
    await page.getByRole("log").getByText("once more | c.txt: plums").waitFor();
  },
);

test(
  "one message goes to two agents, whose answers stand side by side",
  { tags: "long" },
  async ({ skip }) => {
    await using tab = await open(skip, `${server.url}/#/agents/reader`);
    const { page } = tab;
    await page.getByLabel("Compare with").selectOption("loud");
    const message = page.getByLabel("Message to reader");
    const own = page.getByRole("region", { name: "Answer", exact: true });
    const other = page.getByRole("region", { name: "Answer of loud" });
    for (const text of ["first", "second"]) {
      await message.fill(text);
      await submit(message);
      await own.getByText(text).nth(1).waitFor();
      await other.getByText(text.toUpperCase(), { exact: true }).waitFor();
    }
    const [left, right] = await Promise.all([own.boundingBox(), other.boundingBox()]);
    expect([left?.y, (left?.x ?? 0) + (left?.width ?? 0) <= (right?.x ?? 0)]).toEqual([right?.y, true]);
    const { runs } = await server.runtime.runs({ agent: "loud", limit: 9 });
    expect(runs).toHaveLength(1);
    // The address brings both back, but nothing is sent by it.
    await page.reload();
    await other.getByRole("heading", { name: "loud" }).waitFor();
    await page.getByRole("button", { name: "Send" }).waitFor();
    expect((await server.runtime.runs({ agent: "loud", limit: 9 })).runs[0]?.turns).toBe(2);
  },
);
