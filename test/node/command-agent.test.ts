import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createRuntime, operation } from "troupe";
import type { Agent, Runtime } from "troupe";
import { createClient } from "troupe/client";
import { commandAgent } from "troupe/node";
import type { CommandAgentOptions } from "troupe/node";
import type { Event } from "troupe/protocol";
import { collect } from "troupe/testing";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { ofType, requestOf, textsOf, theOne } from "../agents/events.ts";
import { ServerProcess } from "../flows/server.ts";
import { shortened } from "../machine/long.ts";

const SERVER = fileURLToPath(new URL("command-server.ts", import.meta.url));

afterEach(() => {
  vi.unstubAllEnvs();
});

function runtimeOf(...agents: readonly Agent[]): Runtime {
  const runtime = createRuntime({ agents });
  onTestFinished(() => runtime.close());
  return runtime;
}

/** An agent that is a program of Node. */
function agentOf(program: string, options: Partial<CommandAgentOptions> = {}) {
  return commandAgent({
    name: "far",
    purpose: "Is a program.",
    command: process.execPath,
    args: ["-e", program],
    ...options,
  });
}

function chat(
  program: string,
  options: Partial<CommandAgentOptions> = {},
  input = "hi",
): Promise<readonly Event[]> {
  return collect(runtimeOf(agentOf(program, options)), "far", { type: "ChatRequest", input });
}

const endOf = (events: readonly Event[]): Event | undefined => events.at(-1);

/** The beginning of a program that reads its input. */
const READ = `const input = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const say = (event) => console.log(JSON.stringify(event));
`;

/** A place where programs report, each by a connection that lasts as long as it lives. */
async function startMeeting(): Promise<{
  readonly program: string;
  readonly socket: Promise<Socket>;
  readonly pid: Promise<number>;
}> {
  const come = Promise.withResolvers<Socket>();
  const said = Promise.withResolvers<number>();
  const server = createServer((socket) => {
    come.resolve(socket);
    socket.on("error", () => {}).on("data", (data) => said.resolve(Number(data)));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const program = `require("node:net").connect(${port}, "127.0.0.1").write(String(process.pid));\n`;
  return { program, socket: come.promise, pid: said.promise };
}

test("a program gets its input as JSON, and its lines are texts, events and the output", async () => {
  const events = await chat(`${READ}
    console.log("You said", input.input + ".");
    say({ type: "reasoning", text: "Hm." });
    console.log("{ no event }");
    say({ type: "text", text: "It is cold" });
    say({ type: "output", output: { keys: Object.keys(input), same: input.call_id === process.env.TROUPE_CALL_ID } });
  `);
  expect(textsOf(events)).toEqual(["You said hi.\n", "{ no event }\n", "It is cold"]);
  expect(ofType(events, "ReasoningOutput")).toHaveLength(1);
  expect(endOf(events)).toMatchObject({
    finish_reason: "success",
    output: { keys: ["input", "call_id", "attempt"], same: true },
  });
});

test("a program may take and give plain text, and has operations", async () => {
  const counter = commandAgent({
    name: "counter",
    purpose: "Counts.",
    command: "wc",
    args: ["-w"],
    toInput: String,
  });
  const adder = agentOf(`${READ} say({ type: "output", output: { sum: input.input.a + input.input.b } })`, {
    operations: {
      add: operation({
        input: z.object({ a: z.number(), b: z.number() }),
        output: z.object({ sum: z.number() }),
      }),
    },
  }) as Agent;
  const runtime = runtimeOf(counter, adder);
  expect((await runtime.ask(counter, "chat", { input: "one two three" })).output.trim()).toBe("3");
  expect(await runtime.ask(adder, "add", { a: 2, b: 3 })).toEqual({ sum: 5 });
});

test("a program may ask the caller; another process gets the answer", async () => {
  const runtime = runtimeOf(
    agentOf(`${READ}
      if (input.answers === undefined) say({ type: "wait", questions: { size: "Which size?" }, state: [7] });
      else say({ type: "text", text: input.answers.size + input.state[0] });
    `),
  );
  const asked = await collect(runtime, "far", { type: "ChatRequest", input: "a shirt" });
  const wait = theOne(asked, "WaitForInput");
  expect(wait).toMatchObject({ request_keys: { size: "Which size?" } });
  const events = await collect(runtime, "far", {
    type: "ResumeWithInput",
    request_id: requestOf(asked),
    request_keys: { size: "L" },
  });
  expect(endOf(events)).toMatchObject({ finish_reason: "success", result: "L7" });
});

test("a program gets no shell, and only the variables that it is to have", async () => {
  vi.stubEnv("TROUPE_TOKEN", "secret");
  vi.stubEnv("OPEN", "open");
  const lines: string[] = [];
  const shown = `console.error("noted"); console.log(JSON.stringify(process.argv.slice(1)), process.env.TROUPE_TOKEN, process.env.OPEN)`;
  const events = await chat(shown, {
    args: ["-e", shown, "$HOME; echo no", "`id`"],
    env: ["OPEN"],
    log: (line) => lines.push(line),
  });
  expect(textsOf(events)).toEqual(['["$HOME; echo no","`id`"] undefined open\n']);
  expect(lines).toEqual(["noted"]);
});

describe("a program fails its turn when it", () => {
  test.each<[string, string, string, Partial<CommandAgentOptions>]>([
    ["fails", "console.log('I try'); process.exit(3)", "ended with the code 3", {}],
    ["is killed", "process.kill(process.pid, 'SIGKILL')", "was ended by SIGKILL", {}],
    [
      "writes a huge line",
      "for (;;) require('node:fs').writeSync(1, 'x'.repeat(1000))",
      "sends a line of more than 5000 characters",
      { limits: { lineCharacters: 5_000 } },
    ],
    [
      "never ends",
      "for (;;) require('node:fs').writeSync(1, 'x\\n')",
      "sends more than 5000 bytes",
      { limits: { bytes: 5_000 } },
    ],
    ["says nothing", "setInterval(() => {}, 1000)", "sends nothing for 100 ms", { silenceMs: 100 }],
    [
      "does not end after its output",
      "process.stdout.end(); require('node:fs').closeSync(1); setInterval(() => {}, 1000)",
      "sends nothing for 300 ms",
      { silenceMs: 300 },
    ],
  ])("%s", async (_, program, message, options) => {
    const events = await chat(program, { killMs: 100, ...options });
    expect(endOf(events)).toMatchObject({
      finish_reason: "error",
      error: { code: "agent_error", message: `the command of agent far ${message}` },
    });
  });

  test("cannot be started", async () => {
    const events = await chat("", { command: "/nowhere/secret-program" });
    expect(endOf(events)).toMatchObject({ error: { message: "the command of agent far cannot be started" } });
    expect(JSON.stringify(events)).not.toContain("secret-program");
  });
});

test("what is no UTF-8 and no JSON is text, and what reads no input does no harm", async () => {
  const events = await chat(
    `process.stdin.destroy();
    process.stdout.write(Buffer.from([0x7b, 0xff, 0x0a]));
    console.log('{"type":"dance"}'); process.stderr.write("x".repeat(3_000_000))`,
    { log() {} },
    "x".repeat(200_000),
  );
  expect(textsOf(events).join("")).toBe('{\uFFFD\n{"type":"dance"}\n');
  expect(endOf(events)).toMatchObject({ finish_reason: "success" });
});

test("a program whose output is read in part only is ended", async () => {
  const meeting = await startMeeting();
  const events = await chat(`${meeting.program} setInterval(() => console.log("tick"), 1)`, {
    async *toEvents(lines) {
      for await (const line of lines) {
        yield line;
        return;
      }
    },
  });
  expect(endOf(events)).toMatchObject({ finish_reason: "success", result: "tick" });
  const socket = await meeting.socket;
  if (!socket.closed) await once(socket, "close");
  expect(socket.closed).toBe(true);
});

test.each([
  ["ends by SIGTERM", ""],
  ["ignores SIGTERM", "process.on('SIGTERM', () => {});"],
])("a cancel ends a program that %s, and what it has started", async (_, mind) => {
  const meeting = await startMeeting();
  const inner = JSON.stringify(`${meeting.program}${mind} setInterval(() => {}, 1000);`);
  const runtime = runtimeOf(
    agentOf(
      `${mind} require("node:child_process").spawn(process.execPath, ["-e", ${inner}], { stdio: "inherit" });
      setInterval(() => {}, 1000);`,
      { killMs: 200 },
    ),
  );
  const { requestId } = await runtime.process("far", { type: "ChatRequest", input: "hi" });
  const socket = await meeting.socket;
  await meeting.pid;
  await runtime.process("far", { type: "CancelRequest", request_id: requestId });
  if (!socket.closed) await once(socket, "close");
  expect(await runtime.status(requestId)).toMatchObject({ finish_reason: "canceled" });
});

test.each(
  shortened(
    [
      ["once", { finish_reason: "error", error: { code: "interrupted" } }, 1],
      ["again", { finish_reason: "success", result: "begun\ndone\n" }, 2],
    ] as const,
    1,
  ),
)(
  "after kill -9 of the server in the middle, the agent `%s` ends as it declares",
  { tags: "long" },
  async (agent, end, times) => {
    const directory = await mkdtemp(join(tmpdir(), "troupe-command-"));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    const file = join(directory, "started");
    vi.stubEnv("TROUPE_FILE", file);
    // The first one stays, until its server is gone: then nobody reads it.
    vi.stubEnv(
      "TROUPE_PROGRAM",
      `const fs = require("node:fs");
      const isFirst = !fs.existsSync(process.env.TROUPE_FILE);
      fs.appendFileSync(process.env.TROUPE_FILE, process.env.TROUPE_CALL_ID + "\\n");
      console.log("begun");
      if (isFirst) setInterval(() => console.log("on"), 50);
      else console.log("done");`,
    );
    await using server = await ServerProcess.create(SERVER);
    const call = createClient(await server.start())
      .agent(agent)
      .chat("work");
    for await (const event of call) if (event.type === "TextOutput") break;
    const { requestId } = call;
    const events: Event[] = [];
    for await (const event of createClient(await server.restart()).request(requestId)) events.push(event);
    expect(endOf(events)).toMatchObject(end);
    expect(existsSync(file)).toBe(true);
    const keys = readFileSync(file, "utf8").trim().split("\n");
    expect(keys).toHaveLength(times);
    expect(new Set(keys).size).toBe(1);
  },
);
