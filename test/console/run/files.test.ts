/** @module-tag long */
import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { useBrowser } from "../harness/browser.ts";
import { startConsole } from "../harness/server.ts";
import type { ConsoleServer } from "../harness/server.ts";

const open = useBrowser();

const HOSTILE = `<svg xmlns="http://www.w3.org/2000/svg" onload="window.hacked = 1"><script>window.hacked = 1</script></svg>`;
/** A picture of one pixel. */
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

test("a file of a run is downloaded with its own bytes and previewed, and a hostile one runs nowhere", async ({
  skip,
}) => {
  await using server = await startConsole();
  const { run_id: runId } = await server.start("echo", "hello", { wait: "completed" });
  const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, at) => (at * 31) % 256));
  await upload(server, runId, "bytes.bin", "application/octet-stream", bytes);
  await upload(server, runId, "picture.svg", "image/svg+xml", HOSTILE);
  await upload(server, runId, "page.html", "text/html", HOSTILE);
  // The type is what the sender says; the page shows a picture only if the bytes are one.
  await upload(server, runId, "false.png", "image/png", HOSTILE);
  await upload(server, runId, "pixel.png", "image/png", PNG);

  await using tab = await open(skip, `${server.url}/#/runs/${runId}/files`);
  const { page } = tab;
  expect(await download(page, "bytes.bin")).toEqual(bytes);
  expect(await download(page, "picture.svg")).toEqual(Buffer.from(HOSTILE));
  expect(await file(page, "bytes.bin").getByRole("button", { name: "Preview" }).count()).toBe(0);
  for (const name of ["picture.svg", "page.html"]) {
    await file(page, name).getByRole("button", { name: "Preview" }).click();
    await file(page, name).locator("pre").getByText("window.hacked = 1").waitFor();
  }
  await file(page, "false.png").getByRole("button", { name: "Preview" }).click();
  const broken = file(page, "false.png").getByRole("img");
  await broken.waitFor();
  await file(page, "pixel.png").getByRole("button", { name: "Preview" }).click();
  await expect
    .poll(() => page.evaluate(`document.querySelector("img[alt='pixel.png']")?.naturalWidth`))
    .toBe(1);
  expect(await page.evaluate("window.hacked")).toBeUndefined();
});

function file(page: Page, name: string): ReturnType<Page["locator"]> {
  return page.getByRole("list", { name: "Files" }).getByRole("listitem").filter({ hasText: name });
}

async function download(page: Page, name: string): Promise<Buffer> {
  const started = page.waitForEvent("download");
  await file(page, name).getByRole("button", { name: "Download" }).click();
  const saved = await started;
  expect(saved.suggestedFilename()).toBe(name);
  return readFile(await saved.path());
}

async function upload(
  { url }: ConsoleServer,
  runId: string,
  name: string,
  type: string,
  body: string | Buffer,
): Promise<void> {
  const answer = await fetch(`${url}/artifacts?name=${name}&run_id=${runId}`, {
    method: "POST",
    headers: { "content-type": type },
    body,
  });
  expect(answer.status).toBe(201);
}
