import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { readFile, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { defaultLimits } from "../../src/runtime/limits.ts";
import { chat, createProject, main, startCommand, startProgram } from "../cli/command.ts";
import { skipWithoutCurl } from "../machine/skip-without.ts";
import { canRunBlocks, findBlocks, readTypeScript, root, runBlock, toDataLines, toEvents } from "./blocks.ts";
import type { BlockEvent } from "./blocks.ts";

const MEMORY = "docs/guide/memory-and-configuration.md";

test("the curl tour works as described", async ({ skip }) => {
  if (!canRunBlocks) skipWithoutCurl(skip);
  const cwd = await createProject({});
  const command = startCommand(["dev", "--port=0", `--agents=${join(root, "agents")}`], { cwd });
  const [, address = ""] = await command.match(/http:\/\/(127\.0\.0\.1:\d+)/);
  const run = (heading: string, block = 0): Promise<string> =>
    runBlock(findBlocks("docs/guide/http.md", `## ${heading}`, "sh")[block], address, cwd);

  const lookAround = await run("Look around");
  expect(lookAround).toContain('{"name":"echo","path":"/echo"}');
  expect(lookAround).toContain('"name":"payments"');

  const streamed = toEvents(await run("Stream an answer"));
  expect(streamed[0]).toMatchObject({ id: 1, type: "RequestStarted" });
  expect(streamed.at(-1)).toMatchObject({ type: "RequestCompleted", result: "to be or not to be" });

  expect(await run("Talk twice in one run")).toContain(JSON.stringify("1. buy milk\n2. call Ada"));

  const asked = await run("Answer an agent that asks");
  expect(asked).toContain('"request_keys":{"approved":"Pay 30 to bob?"}');
  expect(asked).toContain('"status":"waiting"');
  expect(asked).toContain('"output":{"receipt":"bob:30"}');

  const killed = await run("Kill the server while an agent waits");
  expect(command.output()).toContain("restarting it");
  expect(killed).toContain('"status":"waiting"');
  expect(killed).toContain('"finish_reason":"success"');
  const history = JSON.parse(/\[\{"id":1,.*\]$/s.exec(killed.trim())?.[0] ?? "[]") as readonly BlockEvent[];
  expect(history.map(({ id }) => id)).toEqual(history.map((_, index) => index + 1));
  expect(history.at(-1)).toMatchObject({ type: "RequestCompleted", finish_reason: "success" });

  const [, kills] = await Promise.all([run("Kill it", 0), run("Kill it", 1)]);
  expect(kills).toContain("killed for the second time");
  expect(kills).toMatch(/every tick once$/m);

  const paid = await run("Talk to a model");
  expect(paid).toContain('"request_keys":{"approved":"Pay 2 to bob?"}');
  expect(paid).toContain('"result":"6 / 3 is 2. bob was paid, receipt bob:2."');

  expect(await run("Cancel")).toContain('"finish_reason":"canceled"');

  await run("Follow from two terminals", 0);
  const resumed = await run("Follow from two terminals", 1);
  const first = await readFile(join(cwd, "first.txt"), "utf8");
  const second = await readFile(join(cwd, "second.txt"), "utf8");
  expect(toEvents(second).at(-1)?.type).toBe("TextOutput");
  expect(toDataLines(second + resumed)).toEqual(toDataLines(first));
  expect(toEvents(first).at(-1)).toMatchObject({ type: "RequestCompleted" });

  const forked = await run("Try again from a point");
  expect(forked).toContain(JSON.stringify("1. buy milk\n2. call Ada"));
  expect(forked).toMatch(/"turns":2,"forked_from":\{"run_id":"run_[\w-]+","id":3\}/);

  await run("Download what an agent made");
  expect((await readFile(join(cwd, "moon.pdf"))).subarray(0, 5).toString()).toBe("%PDF-");
});

test("one payment goes through five protocols as described", async ({ skip }) => {
  if (!canRunBlocks) skipWithoutCurl(skip);
  const args = ["dev", "--port=0", "--aip=127.0.0.1:0", `--agents=${join(root, "agents")}`];
  const command = startCommand(args, { cwd: await createProject({}) });
  const [, address = ""] = await command.match(/http:\/\/(127\.0\.0\.1:\d+)/);
  const [, aip = ""] = await command.match(/^aip +(127\.0\.0\.1:\d+)$/m);
  const script = findBlocks("docs/guide/http.md", "## Speak to the same agent in five ways", "sh").join("");
  // The schema of AIP is read from the repository.
  const output = await runBlock(script.replace("127.0.0.1:50051", aip), address, root);
  expect(output).toContain('"name":"chat","status":"completed","input":"pay 30 to bob"');
  expect(output).toContain('"output":"Pay 30 to bob?"');
  const types = toEvents(output).map(({ type }) => type);
  expect(types).toEqual([
    "RequestStarted",
    "WaitForInput",
    "ResumeWithInput",
    "TextOutput",
    "RequestCompleted",
  ]);
  expect(output.trimEnd().split("\n").at(-1)).toBe("FINISH Paid 30 to bob.");
});

test.for([
  ["first-agent.md", "## Call it", '"output":{"greeting":"Guten Tag, Ada!"}'],
  ["tools.md", "## Define one", '"output":{"euros":1.17}'],
  ["people.md", "## Ask", '"output":{"booked":true}'],
  ["files.md", "# Files", "- notes.txt: 3 words"],
  ["actors.md", "## Ask and tell", '"result":"no lamp is left"'],
  ["statecharts.md", "## A machine is an agent", '"output":{"paid":2}'],
] as const)("the commands of %s work with the agent of the page", async ([page, heading, said], { skip }) => {
  if (!canRunBlocks) skipWithoutCurl(skip);
  const path = `docs/guide/${page}`;
  const [code = ""] = readTypeScript(path);
  const cwd = await createProject({ "agents/own.ts": code });
  for (const name of ["xstate", "zod"]) {
    await symlink(join(root, "node_modules", name), join(cwd, "node_modules", name));
  }
  const command = startCommand(["serve", "--port=0"], { cwd });
  const [, address = ""] = await command.match(/http:\/\/(127\.0\.0\.1:\d+)/);
  const [script] = findBlocks(path, heading, "sh");
  expect(await runBlock(script, address, cwd)).toContain(said);
});

test("the example about crashes works unchanged", async () => {
  const [code = ""] = findBlocks("docs/guide/crashes.md", "## What a crash leaves open", "ts");
  const cwd = await createProject({ "agents/postman.ts": code });
  await symlink(join(root, "node_modules/zod"), join(cwd, "node_modules/zod"));
  // No process reads this pipe, so writing to it blocks until the process is killed.
  await promisify(execFile)("mkfifo", [join(cwd, "outbox.txt")]);
  const killed = startCommand(["serve", "--port=0"], { cwd });
  const [before] = await killed.match(/http:\/\/127\.0\.0\.1:\d+/);
  await chat(before, "postman", { input: "Ada", request_id: "letter", wait: true });
  const events = `${before}/getevents/letter?since=1&timeout=10000`;
  expect(await (await fetch(events)).text()).toContain('"type":"ToolCall"');
  killed.kill("SIGKILL");
  await killed.exited;

  const [after] = await startCommand(["serve", "--port=0"], { cwd }).match(/http:\/\/127\.0\.0\.1:\d+/);
  const told = await chat(after, "postman", { input: "Ada", request_id: "letter" });
  expect(told).toMatchObject({
    finish_reason: "success",
    result: "Look into the outbox: the letter may or may not be there.",
  });
});

test("the example of a model agent is served unchanged", async () => {
  const [code = ""] = findBlocks("docs/guide/models.md", "## Let a model speak", "ts");
  const cwd = await createProject({ "agents/weather.ts": code });
  await symlink(join(root, "node_modules/zod"), join(cwd, "node_modules/zod"));
  const command = startCommand(["serve", "--port=0"], { cwd });
  const [url] = await command.match(/http:\/\/127\.0\.0\.1:\d+/);
  const told = await chat(url, "weather", { input: "How warm is Oslo?" });
  expect(told).toMatchObject({ finish_reason: "success", result: "It is 4 degrees in Oslo." });
});

test("the example with tools of an MCP server is served unchanged", async () => {
  const [code = ""] = findBlocks("docs/guide/models.md", "## With the tools of an MCP server", "ts");
  const server = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
  const cwd = await createProject({
    "agents/adder.ts": code
      .replace('"npx"', "process.execPath")
      .replace('"@modelcontextprotocol/server-everything"', JSON.stringify(join(root, server))),
  });
  const command = startCommand(["serve", "--port=0"], { cwd });
  const [url] = await command.match(/http:\/\/127\.0\.0\.1:\d+/);
  const { request_id, result } = await chat(url, "adder", { input: "2 and 3" });
  expect(result).toBe("It is 5.");
  const events = await (await fetch(`${url}/getevents/${request_id}?since=0`)).text();
  expect(events).toContain('"text_result":"The sum of 2 and 3 is 5."');
});

test("the example of a configuration works unchanged", async ({ skip }) => {
  if (!canRunBlocks) skipWithoutCurl(skip);
  const [code = ""] = findBlocks(MEMORY, "## Configure an agent", "ts");
  const cwd = await createProject({ "agents/clerk.ts": code });
  await symlink(join(root, "node_modules/zod"), join(cwd, "node_modules/zod"));
  const command = startCommand(["serve", "--port=0"], { cwd });
  const [, address = ""] = await command.match(/http:\/\/(127\.0\.0\.1:\d+)/);
  expect((await chat(`http://${address}`, "clerk", { input: "Ada" })).result).toBe("Hello, Ada!");
  expect(await runBlock(findBlocks(MEMORY, "## Configure an agent", "sh")[0], address, cwd)).toContain(
    '"result":"Good day, Ada!"',
  );
  expect(await readFile(join(cwd, ".troupe/secrets.json"), "utf8")).toContain("a secret value");
  expect(command.output()).not.toContain("a secret value");
});

test("the example of a remote agent runs unchanged", async () => {
  const dev = startCommand(["serve", "--port=0", `--agents=${join(root, "agents")}`], {
    cwd: await createProject({}),
  });
  const [address] = await dev.match(/http:\/\/127\.0\.0\.1:\d+/);
  const [parrot = ""] = findBlocks("docs/guide/agents-together.md", "## Let agents work together", "ts");
  const code = parrot.replace("http://localhost:4100", address).replace("port: 4200", "port: 0");
  const program = startProgram(process.execPath, ["parrot.ts"], {
    cwd: await createProject({ "parrot.ts": code }),
  });
  const [url] = await program.match(/http:\/\/\S+/);
  expect((await chat(url, "parrot", { input: "not so loud" })).result).toBe("NOT SO LOUD");
});

test("the programs about the client run unchanged", async () => {
  const [booking = ""] = readTypeScript("docs/guide/people.md");
  const files = readTypeScript("docs/guide/client.md").map(
    (code, index) => [`program${index}.ts`, code] as const,
  );
  const cwd = await createProject({
    "agents/booking.ts": booking,
    "agents/echo.ts": await readFile(join(root, "agents/echo.ts"), "utf8"),
  });
  await symlink(join(root, "node_modules/zod"), join(cwd, "node_modules/zod"));
  const [address] = await startCommand(["serve", "--port=0"], { cwd }).match(/http:\/\/127\.0\.0\.1:\d+/);
  const said: string[] = [];
  for (const [name, code] of files) {
    await writeFile(join(cwd, name), code.replace("http://127.0.0.1:4100", address));
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

test.each(["Hono", "Express", "Fastify"])(
  "the agents are served beside the routes of %s",
  async (framework) => {
    const [code = ""] = findBlocks("docs/guide/embedding.md", `## In ${framework}`, "ts");
    const port = await findFreePort();
    const cwd = await createProject({ "server.ts": code.replaceAll("4100", String(port)) });
    for (const name of ["@hono", "express", "fastify", "hono"]) {
      await symlink(join(root, "node_modules", name), join(cwd, "node_modules", name));
    }
    const program = startProgram(process.execPath, ["server.ts"], { cwd });
    const [url] = await program.match(/http:\/\/\S+/);
    expect(await (await fetch(new URL("/", url))).text()).toBe("my own page");
    expect((await chat(url, "echo", { input: "to be" })).result).toBe("to be");
    const listed = await fetch(url, { headers: { accept: "application/json" } });
    expect(await listed.json()).toEqual([{ name: "echo", path: "/agents/echo" }]);
  },
);

test("the route of Next.js answers web requests", async () => {
  const [code = ""] = findBlocks("docs/guide/embedding.md", "## In Next.js", "ts");
  const call = `import { POST } from "./route.ts";
    const body = JSON.stringify({ type: "ChatRequest", input: "to be" });
    const headers = { "content-type": "application/json" };
    const url = "http://localhost/agents/echo/process?wait=completed";
    console.log(await (await POST(new Request(url, { method: "POST", body, headers }))).text());
    process.exit(0);`;
  const cwd = await createProject({ "route.ts": code, "call.ts": call });
  await symlink(join(root, "node_modules/hono"), join(cwd, "node_modules/hono"));
  const { stdout } = await promisify(execFile)(process.execPath, ["call.ts"], { cwd });
  expect(JSON.parse(stdout)).toMatchObject({ type: "RequestCompleted", result: "to be" });
});

test("the commands of the command line work as described", async ({ skip }) => {
  if (!canRunBlocks) skipWithoutCurl(skip);
  const cwd = await createProject({});
  const server = startCommand(["serve", "--port=0", `--agents=${join(root, "agents")}`], { cwd });
  const [, address = ""] = await server.match(/http:\/\/(127\.0\.0\.1:\d+)/);
  const own = `npx() { "${process.execPath}" "${main}" "\${@:2}"; }\n`;
  const path = "docs/guide/command-line.md";
  const [input] = findBlocks(path, "## Input", "sh");
  expect(await runBlock(own + input, address, cwd)).toBe('{"text":"ho ho ho "}\n'.repeat(3));
  const [output] = findBlocks(path, "## Output", "sh");
  expect(await runBlock(own + output, address, cwd)).toBe('ended with 4\n{"receipt":"bob:3"}\n');
});

test("the guide lists every limit with its default", () => {
  const text = readFileSync(join(root, "docs/guide/embedding.md"), "utf8");
  const rows = [...text.matchAll(/^\| `(\w+)` +\| ([\d,]+) +\| /gm)].map(
    ([, name = "", value = ""]) => [name, Number(value.replaceAll(",", ""))] as const,
  );
  expect(Object.fromEntries(rows)).toEqual(defaultLimits);
});

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await once(server.close(), "close");
  return port;
}
