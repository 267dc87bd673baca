/** @module-tag long */
import { join } from "node:path";
import axe from "axe-core";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import type { RequestId } from "troupe/protocol";
import { press, useBrowser } from "./harness/browser.ts";
import { startConsole } from "./harness/server.ts";
import type { ConsoleServer } from "./harness/server.ts";

const open = useBrowser();

/** A folder for screenshots; none are kept by default. */
const screenshots = process.env["SCREENSHOTS"];

/** More than a page has. */
const CREATED = 103;

/** Ann of acme asks, Fay answers, Bob of bolt creates many runs and is refused something. */
async function act({ runtime }: ConsoleServer): Promise<RequestId> {
  const ann = runtime.as({ id: "ann@acme", name: "Ann", owner: "acme", roles: ["user"] });
  const fay = runtime.as({ id: "fay@acme", name: "Fay", owner: "acme", roles: ["user"] });
  const bob = runtime.as({ id: "bob@bolt", owner: "bolt", roles: ["user"] });
  const input = "what is 6 / 3, and pay bob that much";
  const receipt = await ann.process("assistant", { type: "ChatRequest", input });
  await ann.acknowledgement(receipt, { until: "completed", timeoutMs: 20_000 });
  const { requestId: request_id } = receipt;
  await fay.process("assistant", { type: "ResumeWithInput", request_id, request_keys: { approved: true } });
  for (let made = 0; made < CREATED; made += 1) await bob.createRun("echo", { input: made });
  const refusal = await bob
    .process("echo", { type: "ConfigureRequest", args: {} })
    .catch((error: unknown) => error);
  expect(refusal).toMatchObject({ code: "forbidden" });
  return request_id;
}

/** Looks at the page in both themes, on a screen and on a phone. */
async function lookAt(page: Page): Promise<void> {
  await page.emulateMedia({ reducedMotion: "reduce" });
  await page.evaluate(axe.source);
  for (const [colorScheme, width, isRead = false] of LOOKS) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    if (screenshots !== undefined)
      await page.screenshot({ path: join(screenshots, `audit-${colorScheme}-${width}.png`) });
    const faults =
      isRead &&
      (await page.evaluate<readonly string[]>(
        "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes[0].html))",
      ));
    expect(faults || [], `${colorScheme} ${width}`).toEqual([]);
    const { scrollWidth, clientWidth } = await page.evaluate<{ scrollWidth: number; clientWidth: number }>(
      "(({ scrollWidth, clientWidth }) => ({ scrollWidth, clientWidth }))(document.documentElement)",
    );
    expect(scrollWidth, `${colorScheme} ${width}`).toBe(clientWidth);
  }
  await page.setViewportSize({ width: 1440, height: 900 });
}

const LOOKS = [
  ["light", 390, true],
  ["dark", 390],
  ["dark", 1440, true],
  ["light", 1440],
] as const;

test("Audit lists who did what, page by page, filters it by the address, and leads to the event", async ({
  skip,
}) => {
  await using server = await startConsole();
  const id = await act(server);
  await using tab = await open(skip, `${server.url}/#/audit`, { expected: /400/, width: 1440, height: 900 });
  const { page } = tab;
  const rows = page.getByRole("list", { name: "Audit trail" }).getByRole("listitem");
  await rows.filter({ hasText: "bob@bolt" }).filter({ hasText: "was refused" }).waitFor();
  await expect.poll(() => rows.count()).toBe(100);
  await lookAt(page);
  await press(page.getByRole("button", { name: "Older entries" }));
  await rows.filter({ hasText: "Fay" }).filter({ hasText: "answered" }).waitFor();
  expect(await rows.count()).toBe(CREATED + 3);
  expect(await page.getByRole("button", { name: "Older entries" }).count()).toBe(0);

  await page.getByLabel("What was done").selectOption("answered");
  await expect.poll(() => rows.count()).toBe(1);
  expect(page.url()).toContain("#/audit?action=answer");
  await press(rows.getByRole("button", { name: "Fay" }));
  await expect.poll(() => page.url()).toContain("by=fay%40acme");
  await press(rows.getByRole("link", { name: "assistant" }));
  await page.getByText("Answered by").waitFor();
  await page.getByRole("definition").filter({ hasText: "Fay" }).waitFor();
  expect(page.url()).toMatch(/#\/runs\/[^/]+\?at=\d+$/);
  await page.goBack();
  await rows.filter({ hasText: id }).waitFor();

  await page.goto(`${server.url}/#/audit?owner=acme`);
  await expect.poll(() => rows.count()).toBe(2);
  // What is typed stays while the list changes below it.
  const owner = page.getByLabel("Owner");
  await owner.fill("bolt");
  await server.runtime
    .as({ id: "ann@acme", owner: "acme", roles: ["user"] })
    .createRun("echo", { input: "more" });
  await expect.poll(() => rows.count()).toBe(3);
  expect(await owner.inputValue()).toBe("bolt");
  await owner.press("Enter");
  await expect.poll(() => rows.count()).toBe(100);
  await page.goto(`${server.url}/#/audit?until=2001-01-01`);
  await page.getByText("No entry fits the filter.").waitFor();
  await page.goto(`${server.url}/#/audit?action=nonsense`);
  await page.getByRole("alert").waitFor();
}, 120_000);

test("a user of an owner reads why the audit trail is not shown", async ({ skip }) => {
  await using server = await startConsole([], {
    authenticate: () => ({ id: "ann@acme", owner: "acme", roles: ["user"] }),
  });
  await using tab = await open(skip, `${server.url}/#/audit`, { expected: /403/ });
  const alert = tab.page.getByRole("alert");
  await expect
    .poll(() => alert.allTextContents())
    .toEqual([expect.stringContaining("needs the role operator")]);
});
