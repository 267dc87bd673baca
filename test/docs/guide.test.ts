import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { afterLastTest, chat, createProject, startCommand } from "../cli/command.ts";
import type { RunningCommand } from "../cli/command.ts";
import { skipWithoutCurl } from "../machine/skip-without.ts";
import { canRunBlocks, findBlocks, readTypeScript, root, runBlock } from "./blocks.ts";

const MEMORY = "docs/guide/memory-and-configuration.md";
const TOGETHER = "docs/guide/agents-together.md";
const MCP_SERVER = join(root, "node_modules/@modelcontextprotocol/server-everything/dist/index.js");

/** The commands of a page, and what they print. Its agent is the first program of the page. */
const pages = [
  ["first-agent.md", "## Call it", '"output":{"greeting":"Guten Tag, Ada!"}'],
  ["tools.md", "## Define one", '"output":{"euros":1.17}'],
  ["people.md", "## Ask", '"output":{"booked":true}'],
  ["files.md", "# Files", "- notes.txt: 3 words"],
  ["actors.md", "## Ask and tell", '"result":"no lamp is left"'],
  ["statecharts.md", "## A machine is an agent", '"output":{"paid":2}'],
] as const;

/** A server with the agents of the pages. */
let server: RunningCommand;
let cwd = "";
let url = "";
const atEnd = afterLastTest();
beforeAll(async () => {
  const [model = ""] = findBlocks("docs/guide/models.md", "## Let a model speak", "ts");
  const [adder = ""] = findBlocks("docs/guide/models.md", "## With the tools of an MCP server", "ts");
  const [clerk = ""] = findBlocks(MEMORY, "## Configure an agent", "ts");
  cwd = await createProject(
    {
      ...Object.fromEntries(
        pages.map(([page]) => [`agents/${page}.ts`, readTypeScript(`docs/guide/${page}`)[0] ?? ""]),
      ),
      "agents/weather.ts": model,
      "agents/adder.ts": adder
        .replace('"npx"', "process.execPath")
        .replace('"@modelcontextprotocol/server-everything"', JSON.stringify(MCP_SERVER)),
      "agents/clerk.ts": clerk,
      "agents/echo.ts": await readFile(join(root, "agents/echo.ts"), "utf8"),
    },
    atEnd,
  );
  await linkPackages(cwd, "xstate", "zod");
  server = startCommand(["serve", "--port=0"], { cwd, atEnd });
  [url] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
});

test.for(pages)(
  "the commands of %s work with the agent of the page",
  async ([page, heading, said], { skip }) => {
    if (!canRunBlocks) skipWithoutCurl(skip);
    const [script] = findBlocks(`docs/guide/${page}`, heading, "sh");
    expect(await runBlock(script, new URL(url).host, cwd)).toContain(said);
  },
);

test("the example of a model agent is served unchanged", async () => {
  const told = await chat(url, "weather", { input: "How warm is Oslo?" });
  expect(told).toMatchObject({ finish_reason: "success", result: "It is 4 degrees in Oslo." });
});

test("the example with tools of an MCP server is served unchanged", async () => {
  const { request_id, result } = await chat(url, "adder", { input: "2 and 3" });
  expect(result).toBe("It is 5.");
  const events = await (await fetch(`${url}/getevents/${request_id}?since=0`)).text();
  expect(events).toContain('"text_result":"The sum of 2 and 3 is 5."');
});

test(
  "the agents of a program and of an endpoint are served unchanged",
  { tags: "long" },
  async ({ skip }) => {
    const endpoint = createServer((request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ degrees: request.headers["x-team"] === "north" ? 4 : 0 }));
    }).listen(0, "127.0.0.1");
    await once(endpoint, "listening");
    onTestFinished(() => void endpoint.close());
    const address = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/ask`;
    const [counter = "", weather = ""] = findBlocks(TOGETHER, "## Agents that speak no protocol", "ts");
    const project = await createProject({
      "agents/counter.ts": counter,
      "agents/weather.ts": weather.replace("https://weather.example.com/ask", address),
    });
    await linkPackages(project, "zod");
    const [own] = await startCommand(["serve", "--port=0"], { cwd: project }).match(
      /http:\/\/127\.0\.0\.1:\d+/,
    );
    const asked = { type: "OperationRequest", operation: "measure", input: { city: "Oslo" } };
    expect(await chat(own, "weather", asked)).toMatchObject({ output: { degrees: 4 } });
    if (!canRunBlocks) skipWithoutCurl(skip);
    const [script] = findBlocks(TOGETHER, "## Agents that speak no protocol", "sh");
    expect(await runBlock(script, new URL(own).host, project)).toMatch(/"result":" *3\\n"/);
  },
);

test("the example of a configuration works unchanged", { tags: "long" }, async ({ skip }) => {
  if (!canRunBlocks) skipWithoutCurl(skip);
  expect((await chat(url, "clerk", { input: "Ada" })).result).toBe("Hello, Ada!");
  expect(
    await runBlock(findBlocks(MEMORY, "## Configure an agent", "sh")[0], new URL(url).host, cwd),
  ).toContain('"result":"Good day, Ada!"');
  expect(await readFile(join(cwd, ".troupe/secrets.json"), "utf8")).toContain("a secret value");
  expect(server.output()).not.toContain("a secret value");
});

test("the programs about the client run unchanged", { tags: "long" }, async () => {
  const said: string[] = [];
  for (const [index, code] of readTypeScript("docs/guide/client.md").entries()) {
    const name = `program${index}.ts`;
    await writeFile(join(cwd, name), code.replace("http://127.0.0.1:4100", url));
    const { stdout } = await promisify(execFile)(process.execPath, [name], { cwd });
    said.push(stdout);
  }
  expect(said[0]).toBe(
    "RequestStarted\nWaitForInput\nResumeWithInput\nTextOutput\nRequestCompleted\ntrue to be or not to be\n",
  );
  expect(said[1]).toContain("How many guests at Luna?");
  expect(said[1]).toContain("{ booked: true }");
  expect(said[2]).toContain("to be or not to be\n");
});

test("the example about crashes works unchanged", { tags: "long" }, async () => {
  const [code = ""] = findBlocks("docs/guide/crashes.md", "## What a crash leaves open", "ts");
  const project = await createProject({ "agents/postman.ts": code });
  await linkPackages(project, "zod");
  // No process reads this pipe, so writing to it blocks until the process is killed.
  await promisify(execFile)("mkfifo", [join(project, "outbox.txt")]);
  const killed = startCommand(["serve", "--port=0"], { cwd: project });
  const [before] = await killed.match(/http:\/\/127\.0\.0\.1:\d+/);
  await chat(before, "postman", { input: "Ada", request_id: "letter", wait: true });
  const events = `${before}/getevents/letter?since=1&timeout=10000`;
  expect(await (await fetch(events)).text()).toContain('"type":"ToolCall"');
  killed.kill("SIGKILL");
  await killed.exited;

  const [after] = await startCommand(["serve", "--port=0"], { cwd: project }).match(
    /http:\/\/127\.0\.0\.1:\d+/,
  );
  const told = await chat(after, "postman", { input: "Ada", request_id: "letter" });
  expect(told).toMatchObject({
    finish_reason: "success",
    result: "Look into the outbox: the letter may or may not be there.",
  });
});

/** Lets a project import packages of the repository. */
async function linkPackages(project: string, ...names: readonly string[]): Promise<void> {
  for (const name of names) {
    await symlink(join(root, "node_modules", name), join(project, "node_modules", name));
  }
}
