import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "troupe/client";
import { expect, test } from "vitest";
import { createProject, startCommand } from "../cli/command.ts";
import { press, settle, useBrowser } from "./harness/browser.ts";

const open = useBrowser();

const ECHO = `import { defineAgent } from "troupe";
export const echo = defineAgent({ name: "echo", purpose: "Repeats.", chat: (text) => text });
`;
const REDACT = `import { defineEvaluation } from "troupe/eval";
export default defineEvaluation({ redact: (one) => JSON.parse(JSON.stringify(one).replaceAll("jim", "NAME")) });
`;
const AUTHENTICATE = `export const authenticate = (request) => {
  const role = request.headers.get("authorization")?.slice(7);
  return role === "admin" || role === "user" ? { id: role, owner: "acme", roles: [role] } : undefined;
};
`;
/** A trace that a caller has begun. */
const TRACE = "5b8aa5a2d2c872e8321cf37308d69df2";

test("a run is added to a data set, and its trace is found", { tags: "long" }, async ({ skip }) => {
  const cwd = await createProject({ "agents/echo.ts": ECHO, "evals/refunds.ts": REDACT });
  const args = ["serve", "--console", "--port=0"];
  const env = { TROUPE_TRACE_URL: "https://traces.example/{trace}?from=troupe" };
  const server = startCommand(args, { cwd, env });
  const [url] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
  const answer = await fetch(`${url}/echo/process?wait=completed`, {
    method: "POST",
    headers: { "content-type": "application/json", traceparent: `00-${TRACE}-051581bf3cb55c13-01` },
    body: JSON.stringify({ type: "ChatRequest", input: "I am jim" }),
  });
  const { run_id: runId } = (await answer.json()) as { readonly run_id: string };
  const own = createClient(url).agent("echo").chat("the second");
  await own;

  await using tab = await open(skip, `${url}/#/runs/${runId}`, {
    // The last refusal.
    expected: /503/,
  });
  const { page } = tab;
  const link = page.getByRole("link", { name: "trace 5b8aa5a2" });
  expect(await link.getAttribute("href")).toBe(`https://traces.example/${TRACE}?from=troupe`);
  expect(await link.getAttribute("rel")).toContain("noreferrer");

  await page.getByRole("button", { name: "Add to data set" }).click();
  const dialog = page.getByRole("dialog", { name: "Add to a data set" });
  const name = dialog.getByLabel("Name");
  expect(await name.inputValue()).toBe("echo");
  await name.fill("../refunds");
  await settle(dialog.getByRole("button", { name: "Add" }));
  await dialog.getByRole("button", { name: "Add" }).click();
  expect(await name.and(page.locator(":invalid")).count()).toBe(1);
  await name.fill("refunds");
  await dialog.getByText("Makes evals/refunds.jsonl").waitFor();
  await press(dialog.getByRole("button", { name: "Add" }));
  await page.getByText("1 added: evals/refunds.jsonl has 1 case.").waitFor();
  const file = join(cwd, "evals/refunds.jsonl");
  const first = await readFile(file, "utf8");
  expect(JSON.parse(first)).toMatchObject({ id: runId, turns: [{ expected: { result: "I am NAME" } }] });

  // The list adds several at once, to the same data set, and says what it has.
  await page.goto(`${url}/#/runs`);
  const boxes = page.getByRole("checkbox", { name: /^Select/ });
  await boxes.nth(1).check();
  await boxes.first().check();
  await page.getByRole("button", { name: "Add to data set" }).click();
  expect(await name.inputValue()).toBe("refunds");
  await dialog.getByText("Adds to evals/refunds.jsonl").waitFor();
  await press(dialog.getByRole("button", { name: "Add" }));
  await page.getByText("1 added, 1 was there already: evals/refunds.jsonl has 2 cases.").waitFor();
  expect((await readFile(file, "utf8")).startsWith(first)).toBe(true);
  expect(await page.getByRole("region", { name: "Selected runs" }).count()).toBe(0);

  // What an evaluation finds is shown beside the statistics.
  await page.goto(`${url}/#/statistics`);
  await page.getByRole("tab", { name: "Evaluation" }).click();
  await page.getByText("Nothing is known of it yet").waitFor();
  const evaluation = startCommand(["eval", "run", "refunds"], { cwd });
  expect(await evaluation.exited).toBe(0);
  await page.reload();
  const scores = page.getByRole("region", { name: /^2 cases, / });
  await scores.getByRole("row", { name: "exact 1.000 (1.00–1.00)" }).waitFor();
  await scores.getByRole("row", { name: "as expected 2 of 2" }).waitFor();
  const cases = page.getByRole("region", { name: "Cases" });
  await cases.getByText("I am NAME").first().click();
  await cases.getByText("0 asked; cost unknown").first().waitFor();
  // A page that cannot be read says so.
  const inspected = /\/inspect$/;
  await page.route(inspected, (route) => route.fulfill({ status: 503, body: "" }));
  await page.reload();
  await page.locator(".statistics").getByRole("alert").waitFor();
  await page.unroute(inspected);

  // A rule that has changed holds at once; one that fails keeps the file as it was.
  await writeFile(join(cwd, "evals/refunds.ts"), "export default 1;");
  await page.goto(`${url}/#/runs/${await own.runId}`);
  await page.getByRole("button", { name: "Add to data set" }).click();
  await press(dialog.getByRole("button", { name: "Add" }));
  await dialog.getByText("evals/refunds.ts exports no evaluation").waitFor();
});

test(
  "only an admin adds runs, from a page of the server, to a file in the folder of data sets",
  { tags: "long" },
  async () => {
    const files = { "agents/echo.ts": ECHO, "troupe.config.ts": AUTHENTICATE };
    const cwd = await createProject(files);
    await mkdir(join(cwd, "evals"));
    const args = ["serve", "--console", "--port=0", "--allowed-origin=https://app.example"];
    const server = startCommand(args, { cwd });
    const [url] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
    const chat = createClient(url, { token: "admin" }).agent("echo").chat("hello");
    await chat;
    const add = async (
      name: string,
      { role = "admin", runId = "", ...headers }: Readonly<Record<string, string>> = {},
    ): Promise<number> => {
      const response = await fetch(`${url}/inspect/data-sets/${encodeURIComponent(name)}`, {
        method: "POST",
        headers: { authorization: `Bearer ${role}`, "content-type": "application/json", ...headers },
        body: JSON.stringify({ run_ids: [runId === "" ? await chat.runId : runId] }),
      });
      return response.status;
    };
    const offered = async (role: string): Promise<unknown> => {
      const response = await fetch(`${url}/inspect`, { headers: { authorization: `Bearer ${role}` } });
      return ((await response.json()) as { readonly data_sets?: unknown }).data_sets;
    };
    expect(await offered("admin")).toEqual([]);
    expect(await offered("user")).toBeUndefined();
    expect(await add("one", { role: "user" })).toBe(403);
    expect(await add("one", { role: "nobody" })).toBe(401);
    expect(await add("one", { origin: "https://app.example" })).toBe(403);
    expect(await add("one", { "sec-fetch-site": "cross-site" })).toBe(403);
    expect(await add("one", { "content-type": "text/plain" })).toBe(415);
    expect(await add("one", { runId: "run_nothing" })).toBe(404);
    for (const name of ["../one", "..", "/tmp/one", "a/b", "", ".kept", "a".repeat(65), "a\u0000"])
      expect([name, await add(name)]).toEqual([name, expect.toBeOneOf([400, 404, 405])]);
    expect(await readdir(join(cwd, "evals"))).toEqual([]);
    const report = async (name: string, role: string): Promise<readonly unknown[]> => {
      const response = await fetch(`${url}/inspect/data-sets/${encodeURIComponent(name)}/report`, {
        headers: { authorization: `Bearer ${role}` },
      });
      return [response.status, response.status === 200 ? await response.json() : undefined];
    };
    expect(await report("one", "admin")).toEqual([200, { reports: [] }]);
    expect(await report("one", "user")).toEqual([403, undefined]);
    expect(await report("one", "nobody")).toEqual([401, undefined]);
    for (const name of ["../one", "..", "a/b", ".kept"])
      expect([name, await report(name, "admin")]).toEqual([name, [expect.toBeOneOf([400, 404]), undefined]]);
    expect(await add("one")).toBe(200);
    expect(await offered("admin")).toEqual(["one"]);
  },
);

test("where there is no folder for data sets, none is offered", { tags: "long" }, async () => {
  const cwd = await createProject({ "agents/echo.ts": ECHO, evals: "a file" });
  const server = startCommand(["serve", "--console", "--port=0"], { cwd });
  const [url] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
  expect(await (await fetch(`${url}/inspect`)).json()).not.toHaveProperty("data_sets");
});

test("an address of traces that is no web page with a place for the id is refused at the start", async () => {
  const cwd = await createProject({ "agents/echo.ts": ECHO });
  for (const address of ["javascript:alert('{trace}')", "https://traces.example/", "traces/{trace}"]) {
    const server = startCommand(["serve", "--port=0", `--trace-url=${address}`], { cwd });
    expect([await server.exited, server.output()]).toEqual([
      2,
      expect.stringContaining("the address of traces"),
    ]);
  }
});
