/** @module-tag long */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";
import { createRuntime } from "troupe";
import { serve, staticFiles } from "troupe/node";
import { expect, onTestFinished, test } from "vitest";
import { echo } from "../../agents/echo.ts";
import { checkLinks } from "../../site/check-links.ts";
import { findBrowser } from "../console/harness/find-browser.ts";

const dist = resolve(import.meta.dirname, "../../site/dist");
/** `npm run site` builds it, from packages of its own. */
const isMissing = !existsSync(dist) && process.env["CI"] === undefined;
const executablePath = findBrowser();

test.skipIf(isMissing)("no link of the site is dead, and no page loads anything of another origin", () => {
  const { pages, faults } = checkLinks(dist);
  expect(pages).toBeGreaterThan(100);
  expect(faults).toEqual([]);
});

test("a dead link, a missing heading and a foreign script are found", async () => {
  const folder = await mkdtemp(join(tmpdir(), "troupe-links-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, "there"));
  await writeFile(join(folder, "there/index.html"), '<h2 id="here">Here</h2>');
  await writeFile(
    join(folder, "index.html"),
    `<a href="there/#here">1</a><a href="there/#gone">2</a><a href="gone/">3</a>
     <a href="https://example.com">4</a><script src="https://example.com/a.js"></script>`,
  );
  expect(checkLinks(folder).faults).toEqual([
    "index.html: there/index.html has no element gone",
    "index.html: gone/ leads nowhere",
    "index.html loads https://example.com/a.js",
  ]);
});

test.skipIf(isMissing || (executablePath === undefined && process.env["CI"] === undefined))(
  "a reader comes from the first page to a page of the guide, searches, and has a dark theme",
  async () => {
    const server = await serve(createRuntime({ agents: [echo] }), { files: staticFiles(dist), drain: false });
    onTestFinished(() => server.close({ graceMs: 0 }));
    const browser = await chromium.launch({
      ...(executablePath !== undefined && { executablePath }),
      args: ["--no-sandbox"],
    });
    onTestFinished(() => browser.close());
    const page = await browser.newPage({ colorScheme: "dark" });
    const [foreign, faults]: [string[], string[]] = [[], []];
    page.on("request", (request) => {
      if (!request.url().startsWith(server.url) && !request.url().startsWith("data:"))
        foreign.push(request.url());
    });
    page.on("pageerror", (error) => void faults.push(error.message));
    page.on("response", (response) => {
      if (response.status() >= 400) faults.push(`${response.status()} ${response.url()}`);
    });

    await page.goto(server.url);
    await page.getByRole("img", { name: /the statechart lights up/ }).waitFor();
    await page.getByText("npm ci && npm start").waitFor();
    expect(await page.locator("html").getAttribute("data-theme")).toBe("dark");
    await page.getByRole("link", { name: "Your first agent" }).click();
    await page.getByRole("heading", { level: 1, name: "Your first agent" }).waitFor();

    // The page makes the field when it has nothing else to do.
    const field = page.locator("input[title=Search]");
    await field.waitFor({ state: "attached" });
    await page.getByRole("button", { name: "Search" }).first().click();
    await field.fill("insufficient_storage");
    await page
      .getByRole("dialog")
      .getByRole("link", { name: /Troubleshooting/ })
      .first()
      .click();
    await page.getByRole("heading", { name: "insufficient_storage" }).waitFor();
    await page.getByRole("combobox", { name: "Select theme" }).first().selectOption("light");
    expect(await page.locator("html").getAttribute("data-theme")).toBe("light");
    expect({ foreign, faults }).toEqual({ foreign: [], faults: [] });
  },
);
