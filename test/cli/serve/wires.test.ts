/** @module-tag long */
import { expect, test } from "vitest";
import { agentSaying, createProject, startCommand } from "../command.ts";
import { shortened } from "../../machine/long.ts";

const project = { "agents/speaker.ts": agentSaying("hello") };

test("all wires are on, and the banner names them", async () => {
  const command = startCommand(["serve", "--port=0"], { cwd: await createProject(project) });
  const [url] = await command.match(/http:\/\/127\.0\.0\.1:\d+/);
  await command.match(/^wires {9}native, .*agentscope/m);
  expect(await (await fetch(`${url}/agentscope`)).json()).toMatchObject({ name: "agentscope" });
  expect((await fetch(`${url}/ap/v1/agent/tasks`)).status).toBe(200);
  expect((await fetch(`${url}/speaker/describe`)).status).toBe(200);
});

test("--wires names the wires to serve, and none turns them off", { tags: "long" }, async () => {
  const cwd = await createProject(project);
  const some = startCommand(["serve", "--port=0", "--wires=agentscope"], { cwd });
  const [url] = await some.match(/http:\/\/127\.0\.0\.1:\d+/);
  expect((await fetch(`${url}/agentscope`)).status).toBe(200);
  some.kill("SIGTERM");
  await some.exited;
  const none = startCommand(["dev", "--port=0", "--wires=none"], { cwd });
  const [native] = await none.match(/http:\/\/127\.0\.0\.1:\d+/);
  await none.match(/^wires {9}native$/m);
  expect((await fetch(`${native}/agentscope`)).status).toBe(404);
});

const WIRE = `
import { reply } from "troupe/http";
import type { Adapter } from "troupe/http";

export default (): Adapter => ({
  name: "names",
  roots: ["names"],
  owns: (path) => path === "/names",
  toRefusal: ({ message }) => ({ body: JSON.stringify([message]) }),
  addRoutes(app, { runtime }, { agent }) {
    if (agent === undefined) app.get("/names", (c) => reply(c, JSON.stringify(runtime.agents)));
  },
});
`;

test("--wires serves the adapter of a file, beside those of the package", async () => {
  const cwd = await createProject({ ...project, "names.ts": WIRE });
  const command = startCommand(["serve", "--port=0", "--wires=tasks,./names.ts"], { cwd });
  const [url] = await command.match(/http:\/\/127\.0\.0\.1:\d+/);
  await command.match(/^wires {9}native, tasks, \.\/names\.ts$/m);
  expect(await (await fetch(`${url}/names`)).json()).toEqual(["speaker"]);
  expect(await (await fetch(`${url}/names`, { method: "POST" })).json()).toEqual([expect.any(String)]);
  expect((await fetch(`${url}/ap/v1/agent/tasks`)).status).toBe(200);
});

test.each(
  shortened(
    [
      ["that is not there", "./no-wire.ts", "the wire ./no-wire.ts does not load"],
      ["that throws", "./throws.ts", "the wire ./throws.ts does not load"],
      [
        "that exports something else",
        "./agents/speaker.ts",
        "the default export of ./agents/speaker.ts is no adapter",
      ],
      ["twice by two names", "./names.ts,./same.ts", "two wires have the name names"],
    ],
    1,
  ),
)("a wire %s is refused", async (_what, wires, message) => {
  const files = { "names.ts": WIRE, "same.ts": WIRE, "throws.ts": 'throw new Error("on purpose");' };
  const cwd = await createProject({ ...project, ...files });
  const command = startCommand(["serve", "--port=0", `--wires=${wires}`], { cwd });
  expect(await command.exited).toBe(78);
  expect(command.output()).toContain(message);
});

test("an unknown wire is refused with the known ones", async () => {
  const cwd = await createProject(project);
  const command = startCommand(["serve", "--port=0", "--wires=soap"], { cwd });
  expect(await command.exited).toBe(2);
  expect(command.output()).toContain("agentscope");
  expect(command.output()).toContain("none turns them off");
});

test(
  "an agent with the name of a wire is refused, and served without that wire",
  { tags: "long" },
  async () => {
    const agent = agentSaying("hello").replaceAll("speaker", "agentscope");
    const cwd = await createProject({ "agents/speaker.ts": agent });
    const command = startCommand(["serve", "--port=0"], { cwd });
    expect(await command.exited).toBe(78);
    expect(command.output()).toContain("the agent agentscope has the name of a path of the wire agentscope");
    const without = startCommand(["serve", "--port=0", "--wires=none"], { cwd });
    const [url] = await without.match(/http:\/\/127\.0\.0\.1:\d+/);
    expect((await fetch(`${url}/agentscope/describe`)).status).toBe(200);
  },
);

test("--agentic serves the dialect at the root of a port of its own", async () => {
  const cwd = await createProject(project);
  const command = startCommand(["serve", "--port=0", "--agentic=0"], { cwd });
  const [, url = ""] = await command.match(/^agentic {7}(\S+)$/m);
  expect(await (await fetch(`${url}/_discovery`)).json()).toEqual(["/speaker"]);
  expect((await fetch(`${url}/runs`)).status).toBe(404);
  command.kill("SIGTERM");
  expect(await command.exited).toBe(0);
});

test("a port that is taken is refused with the option that chose it", { tags: "long" }, async () => {
  const cwd = await createProject(project);
  const first = startCommand(["serve", "--port=0", "--agentic=0"], { cwd });
  const [, port = ""] = await first.match(/^agentic {7}\S+:(\d+)$/m);
  const second = startCommand(["serve", "--port=0", "--data=other", `--agentic=${port}`], { cwd });
  expect(await second.exited).toBe(69);
  expect(second.output()).toContain(`port ${port}: the port is taken`);
  expect(second.output()).toContain("choose another port with --agentic");
});
