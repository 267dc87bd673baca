/** @module-tag long */
import { expect, test } from "vitest";
import { createWorkshop } from "../agents/letters.ts";
import { press, useBrowser } from "./harness/browser.ts";
import { startConsole } from "./harness/server.ts";

const open = useBrowser();

test("Health lists dead letters, sends one again and dismisses the other", async ({ skip }) => {
  const workshop = createWorkshop();
  await using server = await startConsole(workshop.agents);
  for (const item of ["a lamp", "a chair"])
    await server.runtime.process("boss", { type: "OperationRequest", operation: "order", input: { item } });
  await expect.poll(async () => (await server.runtime.deadLetters()).length).toBe(2);
  await using tab = await open(skip, `${server.url}/#/health`);
  const { page } = tab;
  const part = page.getByRole("region", { name: "Dead letters" });
  const letterOf = (item: string) => part.getByRole("listitem").filter({ hasText: item });
  await letterOf("a lamp").getByText("agent_error: the tool broke").waitFor();
  await letterOf("a lamp").getByText("from boss").waitFor();
  const shot = process.env["TROUPE_SHOT"];
  if (shot !== undefined) await page.screenshot({ path: shot });

  workshop.isBroken = false;
  await press(letterOf("a lamp").getByRole("button", { name: "Send again" }));
  await expect.poll(() => workshop.works).toBe(1);
  await letterOf("a lamp").waitFor({ state: "detached" });
  await press(letterOf("a chair").getByRole("button", { name: "Dismiss" }));
  await part.getByText("none").waitFor();
  expect(await server.runtime.deadLetters()).toEqual([]);
});
