/** @module-tag long */
import { expect, test } from "vitest";
import { chat, createProject, startCommand } from "../command.ts";
import type { RunningCommand } from "../command.ts";

test("the error of a tool is logged in one line with its position in the user's code, its run and its request", async () => {
  const { command, url } = await startServe(["--log-format=json"]);
  const end = await chat(url, "clumsy", { request_id: "letter-1" });
  await command.match(/"msg":"request letter-1 of clumsy ended/);

  const faults = toLines(command).filter(({ level }) => level === 50);
  expect(faults).toHaveLength(1);
  expect(faults[0]).toMatchObject({
    level: 50,
    msg: "tool send failed: the outbox is full",
    at: "agents/clumsy.ts:6:22",
    agent: "clumsy",
    tool: "send",
    run_id: end.run_id,
    request_id: "letter-1",
    tool_call_id: expect.stringMatching(/^\S+$/) as string,
    stack: expect.stringContaining("agents/clumsy.ts:6:22") as string,
    time: expect.any(Number) as number,
    owner: "default",
    trace_id: expect.stringMatching(/^[\da-f]{32}$/) as string,
    span_id: expect.stringMatching(/^[\da-f]{16}$/) as string,
  });
});

test("an error that callers pass on is logged once, where it was thrown", { tags: "long" }, async () => {
  const { command, url } = await startServe(["--log-format=json"]);
  await chat(url, "boss", { request_id: "letter-1" });
  await command.match(/"msg":"request letter-1 of boss ended with agent_error: the outbox is full/);
  expect(toLines(command).filter(({ level }) => level === 50)).toMatchObject([
    { msg: "tool send failed: the outbox is full", agent: "careless", request_id: "letter-1" },
  ]);
});

test("for human readers only the user's own stack frames are logged", { tags: "long" }, async () => {
  const { command, url } = await startServe([]);
  await chat(url, "clumsy", { request_id: "letter-1" });
  const [lines] = await command.match(/^.* error tool send failed.*\n(?: {4}.*\n)+/m);
  const [first = "", ...frames] = lines.trimEnd().split("\n");
  expect(first).toMatch(/tool send failed: the outbox is full \(agents.clumsy\.ts:6:22\)/);
  expect(first).toContain("request_id=letter-1");
  expect(frames[0]).toMatch(/^ {4}at .*agents.clumsy\.ts:6:22/);
  expect(frames.filter((frame) => /node:|[\\/]dist[\\/]/.test(frame))).toEqual([]);
});

test(
  "a message with a line that looks like a frame of no file is logged, and stays the message of the turn",
  { tags: "long" },
  async () => {
    const { command, url } = await startServe(["--log-format=json"]);
    const input = "no\n    at file://host/a.ts:1:1\n    at file:///%zz.ts:1:1";
    await chat(url, "repeating", { request_id: "letter-1", input });
    await command.match(/"msg":"request letter-1 of repeating ended with agent_error: no"/);
    const [fault] = toLines(command).filter(({ level }) => level === 50);
    expect(fault?.msg).toBe("agent repeating failed: no");
  },
);

test("each request is logged in one line when it ends", async () => {
  const { command, url } = await startServe(["--log-format=json"]);
  const end = await chat(url, "clumsy", { request_id: "letter-1" });
  await command.match(/"msg":"request letter-1 of clumsy ended/);

  const requests = toLines(command).filter(
    ({ request_id, level }) => request_id !== undefined && level === 30,
  );
  expect(requests).toEqual([
    {
      level: 30,
      time: expect.any(Number) as number,
      pid: expect.any(Number) as number,
      hostname: expect.any(String) as string,
      msg: "request letter-1 of clumsy ended with success",
      agent: "clumsy",
      owner: "default",
      run_id: end.run_id,
      request_id: "letter-1",
      trace_id: expect.stringMatching(/^[\da-f]{32}$/) as string,
      span_id: expect.stringMatching(/^[\da-f]{16}$/) as string,
      finish_reason: "success",
      ms: expect.any(Number) as number,
    },
  ]);
});

test("with --log-format=json every line of a server is JSON", async () => {
  const { command, url } = await startServe(["--log-format=json"]);
  await chat(url, "clumsy", { request_id: "letter-1" });
  await chat(url, "failing", { request_id: "letter-2" });
  await command.match(/"msg":"request letter-2 of failing ended with agent_error: no more/);
  expect(toLines(command)[0]).toMatchObject({
    level: 30,
    msg: "serving",
    url,
    agents: ["boss", "clumsy", "failing", "repeating"],
  });
});

/** One agent whose tool throws, and one that throws itself. */
const AGENTS = `import { defineAgent, defineTool } from "troupe";
const send = defineTool({
  name: "send",
  description: "Sends.",
  input: { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } },
  run: () => { throw new Error("the outbox is full"); },
});
export const clumsy = defineAgent({
  name: "clumsy",
  purpose: "Fails.",
  tools: [send],
  async chat(_input, turn) {
    await turn.tool(send, {}).catch(() => {});
    await turn.text("sorry");
  },
});
const careless = defineAgent({
  name: "careless",
  purpose: "Fails as its tool does.",
  tools: [send],
  chat: async (_input, turn) => void (await turn.tool(send, {})),
});
export const boss = defineAgent({
  name: "boss",
  purpose: "Fails as the agent that it calls.",
  chat: async (input, turn) => void (await turn.call(careless, "chat", { input })),
});
export const failing = defineAgent({
  name: "failing",
  purpose: "Fails itself.",
  chat() { throw new TypeError("no more\\nsecrets"); },
});
export const repeating = defineAgent({
  name: "repeating",
  purpose: "Fails with its input.",
  chat(input) { throw new Error(input); },
});
`;

async function startServe(
  args: readonly string[],
): Promise<{ readonly command: RunningCommand; readonly url: string }> {
  const cwd = await createProject({ "agents/clumsy.ts": AGENTS });
  const command = startCommand(["serve", "--port=0", ...args], { cwd });
  const [url] = await command.match(/http:\/\/127\.0\.0\.1:\d+/);
  return { command, url };
}

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly request_id?: string;
}

/** The output of a command, each line parsed as JSON. */
function toLines(command: RunningCommand): readonly Line[] {
  return command
    .output()
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
}
