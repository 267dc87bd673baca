import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { useBrowser } from "./harness/browser.ts";
import { startConsole } from "./harness/server.ts";
import type { ConsoleServer } from "./harness/server.ts";

let server: ConsoleServer;
let foreign: { readonly url: string; readonly close: () => void };
beforeAll(async () => {
  server = await startConsole();
  foreign = await startForeign(server.url);
});
afterAll(async () => {
  foreign.close();
  await server[Symbol.asyncDispose]();
});

const open = useBrowser();

test("a request under the name of another site is refused", async () => {
  const status = await new Promise((resolve, reject) => {
    const { hostname, port } = new URL(server.url);
    const headers = { host: "evil.test", accept: "text/html" };
    request({ hostname, port, path: "/", headers }, (answer) => resolve(answer.statusCode))
      .on("error", reject)
      .end();
  });
  expect(status).toBe(421);
});

test(
  "a page of another site starts nothing, reads nothing and cannot frame the console",
  { tags: "long" },
  async ({ skip }) => {
    const before = await runs();
    // The browser reports what it refuses.
    await using tab = await open(skip, foreign.url, { expected: /./, others: [server.url] });
    const { page } = tab;
    await page.getByText("all tried").waitFor();
    const seen = await page.evaluate<unknown>("window.seen");
    expect(seen).toEqual({
      read: "refused",
      write: "refused",
      simple: "refused",
      image: "refused",
      stream: "refused",
    });
    // The frame of the console shows nothing of it.
    const [, frame] = page.frames();
    expect(await frame?.content()).not.toContain('id="console"');
    // A form is sent by the browser itself; the server refuses it.
    await page.getByRole("button", { name: "Send the form" }).click();
    await page.waitForURL(`${server.url}/**`);
    expect(await page.textContent("body")).toContain("forbidden");
    expect(await runs()).toEqual(before);
  },
);

test("a file is a download at its own address, whatever its type", { tags: "long" }, async ({ skip }) => {
  const { run_id: runId } = await server.start("echo", "hello", { wait: "completed" });
  const body = "<script>window.hacked = 1; fetch('/runs')</script>";
  const uploaded = await fetch(`${server.url}/artifacts?name=page.html&run_id=${runId}`, {
    method: "POST",
    headers: { "content-type": "text/html" },
    body,
  });
  const { url } = (await uploaded.json()) as { readonly url: string };
  await using tab = await open(skip, server.url);
  const started = tab.page.waitForEvent("download");
  // The navigation ends with the download.
  await tab.page.goto(new URL(url, server.url).href).catch(() => {});
  expect((await started).suggestedFilename()).toBe("page.html");
  expect(await tab.page.evaluate("window.hacked")).toBeUndefined();
});

test("no address makes the page send anything but reads", { tags: "long" }, async ({ skip }) => {
  const { run_id: runId } = await server.start("payments", "pay 3 to bob", { wait: "completed" });
  await using tab = await open(skip, server.url, { expected: /404/ });
  const { page } = tab;
  const sent: string[] = [];
  page.on("request", (asked) => {
    if (asked.method() !== "GET") sent.push(`${asked.method()} ${asked.url()}`);
  });
  for (const address of [
    "#/agents/payments?operation=pay&to=bob&amount=3&send=true&input=hello",
    `#/runs/${runId}?approved=true&answer=Yes&wait_id=3&text=hello&at=1`,
    `#/runs/${runId}/events?text=Yes&type=ResumeWithInput`,
    `#/inbox?approved=true&wait_id=3`,
    "#/api?route=postProcess&body=%7B%22input%22%3A%22hello%22%7D&send=1",
    "#/api?route=deleteRunsByRunId&run_id=x",
    `#/compare/${runId}/run_other?after=1`,
    "#/runs?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E",
  ]) {
    await page.goto(`${server.url}/${address}`);
    await page.reload();
    await page.getByRole("main").getByRole("heading", { level: 1 }).first().waitFor();
    await page.waitForLoadState("domcontentloaded");
  }
  expect(sent).toEqual([]);
  expect(await page.evaluate("window.hacked")).toBeUndefined();
});

async function runs(): Promise<readonly string[]> {
  const rows = (await (await fetch(`${server.url}/runs`)).json()) as readonly { readonly run_id: string }[];
  return rows.map((row) => row.run_id);
}

/** A site of another origin whose page tries to use the server. */
async function startForeign(target: string): Promise<{ readonly url: string; readonly close: () => void }> {
  const page = `<!doctype html><title>elsewhere</title>
    <form method="post" action="${target}/process" enctype="text/plain">
      <input name='{"type":"ChatRequest","input":"' value='from a form"}'><button>Send the form</button>
    </form>
    <iframe src="${target}/"></iframe>
    <script type="module">
      const seen = (window.seen = {});
      const body = JSON.stringify({ type: "ChatRequest", input: "from elsewhere" });
      const json = { method: "POST", body, headers: { "content-type": "application/json" } };
      const tried = (asked) => asked.then(({ type }) => type, () => "refused");
      seen.read = await tried(fetch("${target}/runs"));
      seen.write = await tried(fetch("${target}/process", json));
      seen.simple = await tried(fetch("${target}/process", { method: "POST", body, mode: "no-cors" }));
      seen.image = await new Promise((resolve) => {
        const image = new Image();
        image.onload = () => resolve("loaded");
        image.onerror = () => resolve("refused");
        image.src = "${target}/process?input=hello";
      });
      seen.stream = await new Promise((resolve) => {
        const stream = new EventSource("${target}/runs?stream=true");
        stream.onmessage = () => resolve("read");
        stream.onerror = () => (stream.close(), resolve("refused"));
      });
      document.body.append("all tried");
    </script>`;
  const site = createServer((_, answer) => {
    answer.setHeader("content-type", "text/html");
    answer.end(page);
  });
  await new Promise<void>((resolve) => {
    site.listen(0, "127.0.0.1", resolve);
  });
  const { port } = site.address() as AddressInfo;
  return { url: `http://localhost:${port}`, close: () => void site.close() };
}
