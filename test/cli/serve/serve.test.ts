import { once } from "node:events";
import { get } from "node:http";
import type { IncomingMessage } from "node:http";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { agentSaying, chat, createProject, startCommand } from "../command.ts";
import { shortened } from "../../machine/long.ts";

test("serves until a signal stops it", async () => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
  const command = startCommand(["serve", "--port=0"], { cwd });
  const [url] = await command.match(/http:\/\/127\.0\.0\.1:\d+/);

  expect((await chat(url, "speaker")).result).toBe("hello");
  command.kill("SIGTERM");

  expect(await command.exited).toBe(0);
  await expect(fetch(url)).rejects.toThrow("fetch failed");
});

test("the default agent is the one that the configuration names", { tags: "long" }, async () => {
  const cwd = await createProject({
    "agents/a.ts": agentSaying("hello", "alto"),
    "agents/z.ts": agentSaying("hello", "zither"),
    "troupe.config.ts": `export const defaultAgent = "zither";`,
    "wrong.ts": `export const defaultAgent = "zithre";`,
  });
  const command = startCommand(["serve", "--port=0"], { cwd });
  await command.match(/zither \(default\)/);

  const refused = startCommand(["serve", "--port=0", "--data=other", "--config=wrong.ts"], { cwd });
  expect(await refused.exited).toBe(78);
  expect(refused.output()).toContain(
    'the default agent "zithre", which no file exports\ndid you mean zither?',
  );
});

test("its pid is in a file while it serves", { tags: "long" }, async () => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
  const command = startCommand(["serve", "--port=0"], { cwd });
  await command.match(/http:/);
  expect(await readFile(join(cwd, ".troupe/pid"), "utf8")).toMatch(/^\d+\n$/);

  command.kill("SIGTERM");
  await command.exited;
  await expect(readFile(join(cwd, ".troupe/pid"))).rejects.toMatchObject({ code: "ENOENT" });
});

test("prints its durability", { tags: "long" }, async () => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
  const command = startCommand(["serve", "--port=0", "--durability=relaxed"], { cwd });
  const [url] = await command.match(/http:\/\/127\.0\.0\.1:\d+/);

  expect(await (await fetch(`${url}/healthz`)).json()).toMatchObject({ durability: "relaxed" });
  await command.match(/relaxed: a power failure may lose the newest events/);
});

test("off loopback, only clients with the token are served", { tags: "long" }, async () => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
  const command = startCommand(["serve", "--port=0", "--host=0.0.0.0", "--allowed-host=example.test"], {
    cwd,
    env: { TROUPE_TOKEN: "a-token-for-this-test" },
  });
  const [, port] = await command.match(/http:\/\/0\.0\.0\.0:(\d+)/);
  const list = (headers: Record<string, string>): Promise<number> =>
    status(`http://127.0.0.1:${port}/`, headers);

  expect(await list({})).toBe(401);
  expect(await list({ authorization: "Bearer a-token-for-this-test" })).toBe(200);
  expect(await list({ authorization: "Bearer a-token-for-this-test", host: "example.test" })).toBe(200);
  expect(await list({ authorization: "Bearer a-token-for-this-test", host: "example.org" })).toBe(421);
});

test("a run that has been idle for the configured time is removed", { tags: "long" }, async () => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
  const command = startCommand(["serve", "--port=0", "--retain-days=0.000001"], { cwd });
  const [url] = await command.match(/http:\/\/127\.0\.0\.1:\d+/);
  const { request_id: requestId } = await chat(url, "speaker");

  const read = async (): Promise<number> => (await fetch(`${url}/request/${requestId}`)).status;
  await expect.poll(read).toBe(410);
});

test.each(["--retain-days=0", "--retain-mb=much"])("%s is refused", async (option) => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
  const command = startCommand(["serve", "--port=0", option], { cwd });

  expect(await command.exited).toBe(2);
  expect(command.output()).toContain("The value must be a number above 0.");
});

test("a second server on one data directory exits with 75", { tags: "long" }, async () => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
  const first = startCommand(["serve", "--port=0"], { cwd });
  await first.match(/http:/);

  const second = startCommand(["serve", "--port=0"], { cwd });

  expect(await second.exited).toBe(75);
  expect(second.output()).toMatch(/\.troupe is in use by another process/);
});

test.each(
  shortened(
    [
      [
        "secrets that are not JSON",
        { "data/secrets.json": '{"a"' },
        "data/secrets.json cannot be read: it is damaged",
      ],
      [
        "secrets that are a list",
        { "data/secrets.json": "[1]" },
        "data/secrets.json cannot be read: it is damaged",
      ],
      [
        "secrets that are not texts",
        { "data/secrets.json": '{"a":1}' },
        "secrets.json cannot be read: it is damaged",
      ],
      [
        "secrets that are a directory",
        { "data/secrets.json/x": "" },
        "data/secrets.json cannot be read: EISDIR",
      ],
      [
        "a lock that is garbage",
        { "data/lock": "garbage ".repeat(1_000) },
        "data/lock is not a lock file of troupe",
      ],
      ["a lock that is a directory", { "data/lock/x": "" }, "data cannot be opened for writing"],
      ["a pid file that is a directory", { "data/pid/x": "" }, "data/pid cannot be used: EISDIR"],
      ["data that are a file", { data: "" }, "data cannot be opened: EEXIST"],
    ],
    0,
  ),
)("%s: one clear line and a hint, and exit 73", async (_, files, message) => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(cwd, path, ".."), { recursive: true });
    await writeFile(join(cwd, path), text);
  }
  const command = startCommand(["serve", "--port=0", "--data=data"], { cwd });
  expect(await command.exited).toBe(73);
  const [line, hint, ...more] = command.output().trim().split("\n");
  expect(line).toContain(message);
  expect(line).toMatch(/^troupe: /);
  expect(hint).toMatch(/remove|--data/);
  expect(more).toEqual([]);
});

test
  .skipIf(process.platform !== "linux")
  .each(shortened(["/proc/x", "/proc/x/y/z", "/dev/null/x", "/sys/x"], 1))(
  "a data directory %s, which cannot be created, exits with 73",
  { tags: "long" },
  async (data) => {
    const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
    const command = startCommand(["serve", "--port=0", `--data=${data}`], { cwd });
    expect(await command.exited).toBe(73);
    expect(command.output()).toMatch(/^troupe: .* cannot be opened: E[A-Z]+\n.*--data\n$/);
  },
);

test("a taken port exits with 69 and suggests a free one", { tags: "long" }, async () => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
  const other = createServer();
  other.listen(0, "127.0.0.1");
  await once(other, "listening");
  onTestFinished(() => void other.close());
  const { port } = other.address() as AddressInfo;

  const command = startCommand(["serve", `--port=${port}`], { cwd });

  expect(await command.exited).toBe(69);
  const [, offered] = await command.match(/--port (\d+)/);
  const again = startCommand(["serve", `--port=${offered}`], { cwd });
  await again.match(/http:/);
});

test("when the highest port is taken, any free port is suggested", { tags: "long" }, async () => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
  const other = createServer();
  other.once("error", () => {});
  other.listen(65_535, "127.0.0.1");
  onTestFinished(() => void other.close());

  const command = startCommand(["serve", "--port=65535"], { cwd });

  expect(await command.exited).toBe(69);
  await command.match(/--port 0\n/);
});

test("an address off loopback without a token exits with 78", { tags: "long" }, async () => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });

  const command = startCommand(["serve", "--port=0", "--host=0.0.0.0"], { cwd, env: { TROUPE_TOKEN: "" } });

  expect(await command.exited).toBe(78);
  expect(command.output()).toContain("TROUPE_TOKEN");
});

test.each(
  shortened(
    [
      [
        "a token that no client can send",
        [],
        { TROUPE_TOKEN: "a b" },
        "the token cannot be sent in a header",
      ],
      ["a token with letters outside ASCII", [], { TROUPE_TOKEN: "schlüssel" }, "letters outside ASCII"],
      ["every host without a token", ["--allowed-host=*"], {}, "allowedHosts has *, and there is no token"],
      ["a host that is a URL", ["--allowed-host=https://a.test"], {}, "is not a host name"],
      ["every origin", ["--allowed-origin=*"], {}, "is not an origin"],
      [
        "a short token off loopback",
        ["--host=0.0.0.0"],
        { TROUPE_TOKEN: "x" },
        "the token has only 1 character",
      ],
      [
        "an address off loopback in HOST",
        [],
        { HOST: "0.0.0.0" },
        "0.0.0.0 can be reached from other machines",
      ],
    ],
    0,
  ),
)("%s exits with 78", async (_, args, env, message) => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });

  const command = startCommand(["serve", "--port=0", ...args], { cwd, env: { TROUPE_TOKEN: "", ...env } });

  expect(await command.exited).toBe(78);
  expect(command.output()).toContain(message);
  expect(command.output()).not.toMatch(/a b|schlüssel|\bat /);
});

test(
  "PORT and HOST set the address, options override them, and empty values are ignored",
  { tags: "long" },
  async () => {
    const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
    const byVariables = startCommand(["serve"], { cwd, env: { PORT: "0", HOST: "localhost" } });
    const [, port] = await byVariables.match(/http:\/\/localhost:(\d+)/);
    expect(port).not.toBe("4100");

    const both = startCommand(["serve", "--port=0", "--host=127.0.0.1", "--data=other"], {
      cwd,
      env: { PORT: String(port), HOST: "" },
    });
    await both.match(/http:\/\/127\.0\.0\.1:\d+/);

    const wrong = startCommand(["serve"], { cwd, env: { PORT: "http" } });
    expect(await wrong.exited).toBe(2);
    expect(wrong.output()).toContain(
      "from env 'PORT' is invalid. The port must be a whole number from 0 to 65535.",
    );
  },
);

test("a tool that a file exports is served next to the agents", { tags: "long" }, async () => {
  const tool = `import { defineTool } from "troupe";
const input = { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } };
export const double = defineTool({ name: "double", description: "Doubles.", input, run: ({ n }) => ({ n: 2 * n }) });
`;
  const cwd = await createProject({ "agents/double.ts": tool, "agents/speaker.ts": agentSaying("hello") });
  const command = startCommand(["serve", "--port=0"], { cwd });
  const [url] = await command.match(/http:\/\/127\.0\.0\.1:\d+/);
  await command.match(/agents {8}double, speaker \(default\)/);

  const answer = await fetch(`${url}/double/process?wait=completed`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ type: "OperationRequest", operation: "double", input: { n: 21 } }),
  });
  expect(await answer.json()).toMatchObject({ agent: "double", result: '{"n":42}', output: { n: 42 } });
});

test("two agents with one name exit with 65", { tags: "long" }, async () => {
  const cwd = await createProject({
    "agents/a.ts": agentSaying("one"),
    "agents/b.ts": agentSaying("two"),
  });

  const command = startCommand(["serve", "--port=0"], { cwd });

  expect(await command.exited).toBe(65);
  expect(command.output()).toContain('a.ts and b.ts both define an agent "speaker"');
});

test(
  "a file exports several versions of an agent as a list, whose first takes new requests",
  { tags: "long" },
  async () => {
    const version = (number: string): string => `defineAgent({
    name: "order", purpose: "Orders.", version: "${number}", chat: () => "by ${number}",
  })`;
    const both = `const v1 = ${version("1")};\nconst v2 = ${version("2")};`;
    const file = (exported: string): string =>
      `import { defineAgent } from "troupe";\n${both}\n${exported}\n`;
    const cwd = await createProject({ "agents/order.ts": file("export { v1, v2 };") });
    const refused = startCommand(["serve", "--port=0"], { cwd });
    expect(await refused.exited).toBe(65);
    expect(refused.output()).toContain('order.ts defines two agents "order"');
    expect(refused.output()).toContain("export default [orderV2, orderV1]");

    await writeFile(join(cwd, "agents/order.ts"), file("export default [v2, v1];"));
    const served = startCommand(["serve", "--port=0"], { cwd });
    const [url] = await served.match(/http:\/\/127\.0\.0\.1:\d+/);
    expect((await chat(url, "order")).result).toBe("by 2");
  },
);

test.each(
  shortened(
    [
      ["an unknown option", ["serve", "--prot=1"]],
      ["an unknown command", ["sevre"]],
      ["a port that is no number", ["serve", "--port=http"]],
      ["a directory of agents that is not there", ["serve", "--agents=nowhere"]],
      ["the same with dev", ["dev", "--agents=nowhere"]],
      ["a url that is none", ["conformance", "localhost"]],
    ] as const,
    1,
  ),
)("%s exits with 2", async (_, args) => {
  const cwd = await createProject({});

  const command = startCommand(args, { cwd });

  expect(await command.exited).toBe(2);
});

test(
  "a log that lost entries exits with 74, and starts if the loss is accepted",
  { tags: "long" },
  async () => {
    const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
    const first = startCommand(["serve", "--port=0"], { cwd });
    const [url] = await first.match(/http:\/\/127\.0\.0\.1:\d+/);
    await chat(url, "speaker");
    first.kill("SIGTERM");
    await first.exited;
    // Only the head file is left, which names the newest transaction.
    for (const file of ["log.db", "log.db-wal", "log.db-shm"]) {
      await rm(join(cwd, ".troupe", file), { force: true });
    }

    const second = startCommand(["serve", "--port=0"], { cwd });
    expect(await second.exited).toBe(74);
    expect(second.output()).toContain("--accept-loss");

    const third = startCommand(["serve", "--port=0", "--accept-loss"], { cwd });
    await third.match(/http:/);
  },
);

/** The status of an answer; unlike `fetch`, it allows any Host header. */
async function status(url: string, headers: Record<string, string>): Promise<number> {
  const [response] = (await once(get(url, { headers }), "response")) as [IncomingMessage];
  response.resume();
  return response.statusCode ?? 0;
}
