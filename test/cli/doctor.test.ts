/** @module-tag long */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createClient } from "troupe/client";
import { beginTurn, createClerk } from "../agents/clerk.ts";
import { start } from "../client/servers.ts";
import { findFreeUrl } from "../machine/free-port.ts";
import { agentSaying, createProject, startCommand } from "./command.ts";

interface Finding {
  readonly subject: string;
  readonly ok: boolean;
  readonly message: string;
  readonly fix?: string;
}

test("a project in order has only good findings, also beside its running server", async () => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
  const server = startCommand(["serve", "--port=0"], { cwd });
  const [url] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);

  const { code, findings } = await runDoctor(cwd);
  expect(findings.filter(({ ok }) => !ok)).toEqual([]);
  expect(code).toBe(0);
  expect(messageOf(findings, "agents")).toBe("agents/speaker.ts: speaker");
  expect(messageOf(findings, "data")).toMatch(
    new RegExp(`format \\d+, \\d+ commits, held by process ${server.pid}$`),
  );
  // The server has noted its address.
  expect(messageOf(findings, "server")).toContain(url);
  expect(messageOf(findings, "server")).toContain("1 agents");
});

test("each fault is named with what mends it", async () => {
  const cwd = await createProject({
    "agents/good.ts": agentSaying("hello", "good"),
    "agents/bad.ts": "export const = 1;",
    ".env": "TROUPE_MODEL=qwen\n",
  });
  const url = await findFreeUrl();
  const { code, findings } = await runDoctor(cwd, ["--url", url]);
  expect(code).toBe(1);
  const faults = findings.filter(({ ok }) => !ok);
  expect(faults.map(({ subject }) => subject)).toEqual(["agents", "server", "model"]);
  const [file, server, model] = faults;
  expect(file?.message).toMatch(/^agents\/bad\.ts cannot be loaded\n.*bad\.ts:1/);
  expect(file?.fix).toBe("correct agents/bad.ts");
  expect(server).toMatchObject({
    message: `no server answers at ${url}: ECONNREFUSED`,
    fix: "npx troupe dev",
  });
  expect(model?.message).toBe("TROUPE_MODEL is set, but neither TROUPE_MODEL_URL nor OPENAI_API_KEY");
});

test("an agent file that imports a package that is not installed names the command that installs it", async () => {
  const cwd = await createProject({ "agents/bad.ts": 'import "@scope/not-there/part";' });
  const { findings } = await runDoctor(cwd, ["--url", await findFreeUrl()]);
  const [file] = findings.filter(({ ok }) => !ok);
  expect(file?.fix).toBe("npm install @scope/not-there");
});

test(
  "a server with another token, and one that is not troupe, are told apart",
  { tags: "long" },
  async () => {
    const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
    const server = startCommand(["serve", "--port=0"], { cwd, env: { TROUPE_TOKEN: "right" } });
    const [url] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
    expect(messageOf((await runDoctor(cwd)).findings, "token")).toBe(`${url} requires a token`);
    expect(messageOf((await runDoctor(cwd, [], { TROUPE_TOKEN: "wrong" })).findings, "token")).toContain(
      "refuses",
    );
    expect((await runDoctor(cwd, [], { TROUPE_TOKEN: "right" })).code).toBe(0);

    const other = createServer((_, response) => void response.end("hello")).listen(0, "127.0.0.1");
    onTestFinished(() => void other.close());
    await once(other, "listening");
    const address = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const { findings } = await runDoctor(cwd, ["--url", address]);
    expect(messageOf(findings, "server")).toContain("something else than troupe");
  },
);

test("held turns are named with their place, one finding for all of an agent that are held there", async () => {
  const clerk = createClerk();
  const { log, requestId, runId } = await beginTurn(clerk);
  clerk.isChanged = true;
  await using server = await start({ agents: [clerk.agent], log });
  await createClient(server.url).agent("clerk").answer({ requestId, waitId: 2 }, { name: "Ada" });

  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
  const { code, findings } = await runDoctor(cwd, ["--url", server.url]);
  expect(code).toBe(1);
  const held = findings.filter(({ subject }) => subject === "held");
  expect(held).toHaveLength(1);
  expect(held[0]?.message).toMatch(
    new RegExp(
      `^clerk: 1 turn is held with nondeterministic at .*clerk\\.ts:\\d+ since .*, for example ${runId}\n`,
    ),
  );
  expect(held[0]?.fix).toContain(`troupe runs end ${runId}`);
});

test(
  "a log of a newer format, and a file that is no log, are faults of the data",
  { tags: "long" },
  async () => {
    const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello"), "log.db": "" });
    const database = new DatabaseSync(join(cwd, "log.db"));
    database.exec("PRAGMA user_version = 999");
    database.close();
    const { findings } = await runDoctor(cwd, ["--data", "."]);
    expect(messageOf(findings, "data")).toContain("format 999; this troupe reads");

    const broken = await createProject({
      "agents/speaker.ts": agentSaying("hello"),
      "log.db": "x".repeat(9_000),
    });
    expect(messageOf((await runDoctor(broken, ["--data", "."])).findings, "data")).toContain(
      "cannot be read",
    );

    const { code, findings: ofFile } = await runDoctor(broken, ["--data", "package.json"]);
    expect(code).toBe(1);
    expect(messageOf(ofFile, "data")).toBe("package.json cannot be read: it is not a directory");
  },
);

async function runDoctor(
  cwd: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number | NodeJS.Signals; readonly findings: readonly Finding[] }> {
  const models = { OPENAI_API_KEY: "", TROUPE_MODEL_URL: "" };
  const doctor = startCommand(["doctor", "--json", ...args], { cwd, env: { ...models, ...env } });
  const code = await doctor.exited;
  const lines = doctor
    .output()
    .split("\n")
    .filter((line) => line.startsWith("{"));
  return { code, findings: lines.map((line) => JSON.parse(line) as Finding) };
}

function messageOf(findings: readonly Finding[], subject: string): string | undefined {
  return findings.find((finding) => finding.subject === subject)?.message;
}
