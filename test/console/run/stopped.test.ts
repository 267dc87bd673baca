/** @module-tag long */
import { defineAgent } from "troupe";
import { expect, test } from "vitest";
import { z } from "zod";
import { press, useBrowser } from "../harness/browser.ts";
import { startConsole } from "../harness/server.ts";

const open = useBrowser();

const worker = defineAgent({
  name: "worker",
  purpose: "Works, and fails when it is told to.",
  operations: (own) => ({
    work: own({
      input: z.object({ fails: z.boolean() }),
      run({ fails }): string {
        if (fails) throw new Error("the tool broke");
        return "done";
      },
    }),
  }),
});

const boss = defineAgent({
  name: "boss",
  purpose: "Stops the worker when it fails.",
  supervise: { on: "error", then: "stop" },
  operations: (own) => ({
    order: own({
      input: z.object({}),
      run: (_input, turn) => turn.tell(turn.actor(worker, "one"), "work", { fails: true }),
    }),
  }),
});

test("the page of a stopped actor says so, and Resume has it take requests again", async ({ skip }) => {
  await using server = await startConsole([worker, boss]);
  const { runtime } = server;
  const actor = runtime.actor(worker, "one");
  await actor.ask("work", { fails: false });
  const runId = (await runtime.find("worker", "one")) ?? "";
  await using tab = await open(skip, `${server.url}/#/runs/${runId}`);
  const header = tab.page.locator(".run-header");
  const resume = header.getByRole("button", { name: "Resume" });
  await header.getByText("1 turn,").waitFor();
  expect(await resume.count()).toBe(0);

  await runtime.actor(boss, "b").ask("order", {});
  await header.getByText(/^stopped \d\d:\d\d/).waitFor();
  await header.getByTitle("the tool broke").waitFor();
  await expect(actor.ask("work", { fails: false })).rejects.toMatchObject({ code: "stopped" });

  await press(resume);
  await resume.waitFor({ state: "detached" });
  expect(await header.getByText(/^stopped/).count()).toBe(0);
  expect(await actor.ask("work", { fails: false })).toBe("done");
});
