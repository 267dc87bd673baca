/** @module-tag long */
import { once } from "node:events";
import { mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { agentSaying, chat, createProject, main, startCommand, startProgram } from "../command.ts";
import type { RunningCommand } from "../command.ts";
import { findPrograms } from "../../machine/postgres-server.ts";
import { skipWithoutPostgres } from "../../machine/skip-without.ts";
import { newDatabase } from "../../storage/postgres/databases.ts";

test("serves the agents of a directory and prints address, agents and data directory", async () => {
  const cwd = await createProject({
    "agents/a.ts": agentSaying("one", "alpha"),
    "agents/b.ts": agentSaying("two", "echo"),
    "agents/notes.md": "not an agent",
  });
  const { command, url } = await startDev(cwd);

  expect(await (await fetch(`${url}/`)).json()).toEqual([
    { name: "alpha", path: "/alpha" },
    { name: "echo", path: "/echo" },
  ]);
  expect(command.output()).toMatch(/agents +alpha, echo \(default\)/);
  expect(command.output()).toMatch(/data +\.troupe \(every event fsynced\)/);
});

test("a changed agent is served at the same address, and the runs are kept", async () => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("before") });
  const { command, url } = await startDev(cwd);
  const before = await chat(url, "speaker");
  expect(before.result).toBe("before");

  await writeFile(join(cwd, "agents/speaker.ts"), agentSaying("after"));
  await command.match(/ready again/);

  const after = await chat(url, "speaker", { run_id: before.run_id });
  expect(after).toMatchObject({ result: "after", run_id: before.run_id, id: before.id + 3 });
});

test("dev reads .env, which also gives options; the environment overrides it", async () => {
  const cwd = await createProject({
    "agents/speaker.ts": agentOf("process.env.WORD + process.env.OTHER"),
    ".env": "WORD=file\nOTHER=file\nHOST=localhost\n",
  });
  const command = startCommand(["dev", "--port=0"], { cwd, env: { OTHER: "shell" } });
  const [url] = await command.match(/http:\/\/localhost:\d+/);
  expect((await chat(url, "speaker")).result).toBe("fileshell");
});

test(
  "a change of .env is followed; if it cannot be read, that is reported and the variables stay as they were",
  { tags: "long" },
  async () => {
    const cwd = await createProject({ "agents/speaker.ts": agentOf("String(process.env.WORD)") });
    const { command, url } = await startDev(cwd);
    expect((await chat(url, "speaker")).result).toBe("undefined");

    for (const word of ["new", "changed"]) {
      const from = command.output().length;
      await writeFile(join(cwd, ".env"), `WORD=${word}`);
      await command.match(/^\.env changed$/m, from);
      await command.match(/ready again/, from);
      expect((await chat(url, "speaker")).result).toBe(word);
    }

    const from = command.output().length;
    await symlink("agents", join(cwd, ".env.new"));
    await rename(join(cwd, ".env.new"), join(cwd, ".env"));
    await command.match(/^cannot read \.env: EISDIR; its variables stay as they were$/m, from);
    await command.match(/ready again/, from);
    expect((await chat(url, "speaker")).result).toBe("changed");
  },
);

test("options that .env gives are followed, and the new address is named", { tags: "long" }, async () => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello"), ".env": "HOST=127.0.0.1\n" });
  const { command } = await startDev(cwd);
  const from = command.output().length;
  await writeFile(join(cwd, ".env"), "HOST=localhost\n");
  const [, url = ""] = await command.match(
    /^ready again .* at (http:\/\/localhost:\d+), data \.troupe/m,
    from,
  );
  expect((await chat(url, "speaker")).result).toBe("hello");
});

test("a database that .env gives later has the runs from then on", { tags: "long" }, async ({ skip }) => {
  if (findPrograms() === undefined) skipWithoutPostgres(skip);
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
  const { command, url } = await startDev(cwd);
  const { run_id: before } = await chat(url, "speaker");

  const from = command.output().length;
  await writeFile(join(cwd, ".env"), `TROUPE_LOG=${await newDatabase()}\n`);
  await command.match(/^ready again .*, data postgres/m, from);
  expect((await fetch(`${url}/runs/${before}`)).status).toBe(404);
  const { run_id: during } = await chat(url, "speaker");

  const back = command.output().length;
  await rm(join(cwd, ".env"));
  await command.match(/^ready again .*, data \.troupe/m, back);
  expect((await fetch(`${url}/runs/${before}`)).status).toBe(200);
  expect((await fetch(`${url}/runs/${during}`)).status).toBe(404);
});

test(
  "agents are served again when their directory was removed and made again",
  { tags: "long" },
  async () => {
    const cwd = await createProject({ "agents/speaker.ts": agentSaying("before") });
    const { command, url } = await startDev(cwd);
    let from = command.output().length;
    await rm(join(cwd, "agents"), { recursive: true });
    await command.match(/still serving the agents as they were/, from);
    expect((await chat(url, "speaker")).result).toBe("before");
    from = command.output().length;
    await mkdir(join(cwd, "agents"));
    await writeFile(join(cwd, "agents/speaker.ts"), agentSaying("after"));
    await command.match(/ready again/, from);
    expect((await chat(url, "speaker")).result).toBe("after");
  },
);

test("a file that exports no agent is named once, with what to do", { tags: "long" }, async () => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
  const { command } = await startDev(cwd);
  const line =
    /^agents.draft\.ts exports no agent; export one, or rename it to _draft\.ts if it is not to have one$/gm;

  await writeFile(join(cwd, "agents/draft.ts"), "const draft = 1;\nvoid draft;\n");
  await command.match(/ready again/);
  expect(command.output()).toMatch(line);

  const from = command.output().length;
  await writeFile(join(cwd, "agents/speaker.ts"), agentSaying("hello again"));
  await command.match(/ready again/, from);
  expect(command.output().match(line)).toHaveLength(1);
});

test("with --log-format json every line is a JSON object", { tags: "long" }, async () => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
  const command = startCommand(["dev", "--port=0", "--log-format=json"], { cwd });
  await command.match(/"msg":"serving"/);
  await writeFile(join(cwd, "agents/speaker.ts"), "export const = 1;\n");
  await command.match(/"msg":"still serving the agents as they were before this change"/);
  await writeFile(join(cwd, "agents/speaker.ts"), agentSaying("hello again"));
  await command.match(/"msg":"ready again after/);
  command.kill();
  await command.exited;

  const lines = command.output().trim().split("\n");
  const parsed = lines.map((line) => JSON.parse(line) as { readonly msg: string; readonly hint?: string });
  expect(parsed.map(({ msg }) => msg)).toContain("speaker.ts changed");
  const failure = parsed.find(({ msg }) => msg.endsWith("speaker.ts cannot be loaded"));
  expect(failure?.hint).toContain("export const = 1;");
});

test("a broken file is reported, and the previous agents are served until it is repaired", async () => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("before") });
  const { command, url } = await startDev(cwd);

  await writeFile(join(cwd, "agents/speaker.ts"), "export const = 1;\n");
  await command.match(/still serving the agents as they were before this change/);
  expect(command.output()).toMatch(/agents.speaker\.ts cannot be loaded/);
  expect(command.output()).toMatch(/export const = 1;/);
  expect((await chat(url, "speaker")).result).toBe("before");

  await writeFile(join(cwd, "agents/speaker.ts"), agentSaying("after"));
  await command.match(/ready again/);
  expect((await chat(url, "speaker")).result).toBe("after");
});

test("agents that cannot be served together do not replace the served ones", { tags: "long" }, async () => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("before") });
  const { command, url } = await startDev(cwd);

  await writeFile(join(cwd, "agents/other.ts"), agentSaying("other", "speaker"));
  await command.match(/still serving the agents as they were before this change/);

  expect((await chat(url, "speaker")).result).toBe("before");
});

test(
  "a file that is broken at the start is reported, and served once it is repaired",
  { tags: "long" },
  async () => {
    const cwd = await createProject({ "agents/speaker.ts": "export const = 1;\n" });
    const command = startCommand(["dev", "--port=0"], { cwd });
    await command.match(/waiting for a change of the agents/);

    await writeFile(join(cwd, "agents/speaker.ts"), agentSaying("after"));
    const [url] = await command.match(/http:\/\/127\.0\.0\.1:\d+/);

    expect((await chat(url, "speaker")).result).toBe("after");
  },
);

test("a file that is broken at the start does not stop the others, and is served once it is repaired", async () => {
  const cwd = await createProject({
    "agents/other.ts": 'import "not-there";\n',
    "agents/speaker.ts": agentSaying("hello"),
  });
  const { command, url } = await startDev(cwd);
  expect(command.output()).toMatch(/agents.other\.ts cannot be loaded\n.*Cannot find package 'not-there'/);
  expect(command.output()).toMatch(/the agents of the other files are served, without agents.other\.ts/);
  expect((await chat(url, "speaker")).result).toBe("hello");

  // A change of another file is served, and one that breaks a served file is not.
  let from = command.output().length;
  await writeFile(join(cwd, "agents/speaker.ts"), agentSaying("hello again"));
  await command.match(/ready again/, from);
  expect((await chat(url, "speaker")).result).toBe("hello again");
  from = command.output().length;
  await writeFile(join(cwd, "agents/speaker.ts"), "export const = 1;\n");
  await command.match(/still serving the agents as they were before this change/, from);

  from = command.output().length;
  await writeFile(join(cwd, "agents/speaker.ts"), agentSaying("hello again"));
  await command.match(/ready again/, from);
  from = command.output().length;
  await writeFile(join(cwd, "agents/other.ts"), agentSaying("here", "other"));
  await command.match(/ready again/, from);
  expect((await chat(url, "other")).result).toBe("here");
});

test("a file whose package is missing is served once the package is installed, and again when it is another", async () => {
  const folder = await createProject({
    "word/package.json": JSON.stringify({
      name: "word",
      version: "1.0.0",
      type: "module",
      exports: "./index.js",
    }),
    "word/index.js": 'export const word = "first";\n',
    "project/package.json": JSON.stringify({ name: "project", version: "1.0.0", type: "module" }),
    "project/agents/other.ts": `import { word } from "word";\n${agentSaying("${word}", "other").replace('"${word}")', "word)")}`,
    "project/agents/speaker.ts": agentSaying("hello"),
  });
  const cwd = join(folder, "project");
  const install = async (): Promise<void> => {
    const npm = startProgram("npm", ["install", "../word", "--install-links", "--offline", "--no-audit"], {
      cwd,
    });
    expect(await npm.exited).toBe(0);
  };
  const { command, url } = await startDev(cwd);
  expect(command.output()).toMatch(/agents.other\.ts cannot be loaded\n.*Cannot find package 'word'/);

  let from = command.output().length;
  await install();
  await command.match(/^node_modules changed$/m, from);
  await command.match(/ready again/, from);
  expect((await chat(url, "other")).result).toBe("first");

  from = command.output().length;
  await rm(join(cwd, "node_modules"), { recursive: true });
  await writeFile(join(folder, "word/index.js"), 'export const word = "second";\n');
  await install();
  await command.match(/ready again/, from);
  expect((await chat(url, "other")).result).toBe("second");
});

test(
  "an imported file outside the directory is watched, also when it is broken",
  { tags: "long" },
  async () => {
    const cwd = await createProject({
      "word.ts": 'export const word = "before";\n',
      "agents/speaker.ts": `import { word } from "../word.ts";\n${agentSaying("${word}").replace('"${word}")', "word)")}`,
    });
    const { command, url } = await startDev(cwd);

    await writeFile(join(cwd, "word.ts"), "export const = 1;\n");
    await command.match(/still serving/);
    await writeFile(join(cwd, "word.ts"), 'export const word = "after";\n');
    await command.match(/ready again/);

    expect((await chat(url, "speaker")).result).toBe("after");
  },
);

test(
  "a file that does not come to its end while it is loaded is loaded again once it is changed",
  { tags: "long" },
  async () => {
    const cwd = await createProject({ "agents/speaker.ts": agentSaying("before") });
    const { command, url } = await startDev(cwd);

    const from = command.output().length;
    await writeFile(
      join(cwd, "agents/speaker.ts"),
      'console.log("it hangs"); await new Promise((resolve) => setTimeout(resolve, 2 ** 30));',
    );
    await command.match(/^it hangs$/m, from);
    await writeFile(join(cwd, "agents/speaker.ts"), agentSaying("after"));
    await command.match(/ready again/);
    expect((await chat(url, "speaker")).result).toBe("after");
  },
);

test("a data directory below the agents is not watched", { tags: "long" }, async () => {
  const cwd = await createProject({ "speaker.ts": agentSaying("before") });
  const command = startCommand(["dev", "--port=0", "--agents=.", "--data=data"], { cwd });
  const [url] = await command.match(/http:\/\/127\.0\.0\.1:\d+/);
  await chat(url, "speaker");

  await writeFile(join(cwd, "speaker.ts"), agentSaying("after"));
  await command.match(/ready again/);
  expect(command.output().match(/^.* changed$/gm)).toEqual(["speaker.ts changed"]);
});

test("the port 80 is kept after a change", { tags: "long" }, async ({ skip }) => {
  const probe = createServer().listen(80, "127.0.0.1");
  const isFree = await once(probe, "listening").then(
    () => true,
    () => false,
  );
  probe.close();
  if (!isFree) skip("this machine does not let the test listen on port 80");
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("before") });
  const command = startCommand(["dev", "--port=80"], { cwd });
  await command.match(/^data /m);

  await writeFile(join(cwd, "agents/speaker.ts"), agentSaying("after"));
  await command.match(/ready again/);
  expect((await chat("http://127.0.0.1", "speaker")).result).toBe("after");
});

test("a waiting request continues after an edit with the code that began it", async () => {
  const cwd = await createProject({ "agents/waiter.ts": WAITER });
  const { command, url } = await startDev(cwd);
  const { request_id } = await chat(url, "waiter");
  const changed = WAITER.replace("const {", 'await turn.text("new");\n    const {');
  await writeFile(join(cwd, "agents/waiter.ts"), changed);
  await command.match(
    /1 request is open and continues with the changed code, or with the code that began it/,
  );
  const end = await chat(url, "waiter", {
    type: "ResumeWithInput",
    request_id,
    request_keys: { answer: "yes" },
  });
  expect(end).toMatchObject({ finish_reason: "success" });
});

test("an edit during a waiting request reports what happens to it", { tags: "long" }, async () => {
  const cwd = await createProject({ "agents/waiter.ts": WAITER });
  const { command, url } = await startDev(cwd, ["--no-keep-versions"]);
  const { request_id } = await chat(url, "waiter");

  await writeFile(
    join(cwd, "agents/waiter.ts"),
    WAITER.replace("const {", 'await turn.text("new");\n    const {'),
  );
  await command.match(/1 request is open and continues with the changed code/);
  // The answer is logged; the end that `chat` would wait for does not come.
  const answer = { type: "ResumeWithInput", request_id, request_keys: { answer: "yes" } };
  const sent = await fetch(`${url}/waiter/process?wait=true`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(answer),
  });
  expect(sent.status).toBe(200);

  const status = await (await fetch(`${url}/request/${request_id}`)).json();
  expect(status).toMatchObject({
    status: "held",
    held: { code: "nondeterministic", at: expect.stringMatching(/^agents\/waiter\.ts:\d+$/) as string },
  });
  await command.match(
    new RegExp(`request ${request_id} of waiter is held with nondeterministic: on replay, `),
  );
  await command.match(/hint: serve the code before the change again/);

  await writeFile(join(cwd, "agents/waiter.ts"), WAITER);
  await expect
    .poll(async () => (await fetch(`${url}/request/${request_id}`)).json(), {
      timeout: 60_000,
      interval: 100,
    })
    .toMatchObject({ status: "completed", finish_reason: "success" });
});

test("a stream is cut when an agent changes, and resumed after the restart", { tags: "long" }, async () => {
  const cwd = await createProject({ "agents/waiter.ts": WAITER });
  const { command, url } = await startDev(cwd);
  const { request_id } = await chat(url, "waiter");
  const stream = await fetch(`${url}/getevents/${request_id}?stream=true&follow=true`);

  await writeFile(join(cwd, "agents/waiter.ts"), `${WAITER}\n`);
  // The stream has ended in one way or the other.
  const before = await stream.text().catch(() => "");
  await command.match(/ready again/);

  expect(before).not.toContain("RequestCompleted");
  const resumed = await chat(url, "waiter", {
    type: "ResumeWithInput",
    request_id,
    request_keys: { answer: "yes" },
  });
  expect(resumed).toMatchObject({ type: "RequestCompleted", request_id, result: "yes" });
});

test("a killed server is restarted with all its data", async () => {
  const cwd = await createProject({ "agents/waiter.ts": WAITER });
  const { command, url } = await startDev(cwd);
  const { request_id } = await chat(url, "waiter");

  process.kill(Number(await readFile(join(cwd, ".troupe/pid"), "utf8")), "SIGKILL");
  await command.match(/^the server was ended by SIGKILL; restarting it$/m);
  await command.match(/ready again/);

  const resumed = await chat(url, "waiter", {
    type: "ResumeWithInput",
    request_id,
    request_keys: { answer: "still here" },
  });
  expect(resumed).toMatchObject({ type: "RequestCompleted", result: "still here" });
});

test(
  "a turn that ends its process in any way, each time it continues, does not make the command give up",
  { tags: "long" },
  async () => {
    const cwd = await createProject({
      "agents/fatal.ts": FATAL,
      "agents/speaker.ts": agentSaying("still here"),
    });
    const { command, url } = await startDev(cwd);
    const body = JSON.stringify({ input: "now", request_id: "last-words" });
    const headers = { "content-type": "application/json" };
    await fetch(`${url}/fatal/process`, { method: "POST", headers, body }).catch(() => {});

    // The server dies several times until the turn is ended, each time soon after it is ready.
    const status = async (): Promise<unknown> =>
      (await fetch(`${url}/request/last-words`).catch(() => undefined))?.json().catch(() => {});
    await expect.poll(status).toMatchObject({ status: "completed", error: { code: "poisoned" } });
    // The process dies in three trials; before them the turn ran twice. It repeats the last way.
    expect(command.output().match(/^the server .*; restarting it$/gm)).toEqual(
      [
        "exited with code 1",
        "exited with code 69",
        "was ended by SIGHUP",
        "exited with code 143",
        "exited with code 143",
      ].map((how) => `the server ${how}; restarting it`),
    );
    expect(command.output()).not.toContain("waiting for a change");
    expect((await chat(url, "speaker")).result).toBe("still here");
  },
);

test("the server dies with the command that watches over it", { tags: "long" }, async () => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
  const { command, url } = await startDev(cwd);

  command.kill("SIGKILL");
  await command.exited;

  await expect(fetch(url)).rejects.toThrow("fetch failed");
});

test.each(["SIGINT", "SIGTERM"] as const)("ends with exit code 0 on %s", { tags: "long" }, async (signal) => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
  const { command } = await startDev(cwd);

  command.kill(signal);

  expect(await command.exited).toBe(0);
});

test("ends when its npm gets SIGTERM, which a shell does not forward", { tags: "long" }, async () => {
  const npm = await startByNpm();
  const [url] = await npm.match(/http:\/\/127\.0\.0\.1:\d+/);

  npm.kill("SIGTERM");
  await npm.exited;

  await expect(fetch(url)).rejects.toThrow("fetch failed");
});

test("ends when a terminal sends SIGINT to its npm and all its children", async () => {
  const npm = await startByNpm();
  const [url] = await npm.match(/http:\/\/127\.0\.0\.1:\d+/);

  process.kill(-npm.pid, "SIGINT");
  await npm.exited;

  await expect(fetch(url)).rejects.toThrow("fetch failed");
});

/** An agent that asks for an answer and repeats it. */
const WAITER = `import { defineAgent } from "troupe";
export const waiter = defineAgent({
  name: "waiter",
  purpose: "Waits.",
  async chat(_input, turn) {
    const { answer } = await turn.waitForInput({ answer: "Well?" });
    await turn.text(String(answer));
  },
});
`;

/** An agent that ends its process in another way each time its turn continues. */
const FATAL = `import { appendFileSync, readFileSync } from "node:fs";
import { defineAgent } from "troupe";
const ways = [
  () => process.exit(1),
  () => process.exit(69),
  () => process.kill(process.pid, "SIGHUP"),
  () => process.kill(process.pid, "SIGTERM"),
];
export const fatal = defineAgent({
  name: "fatal",
  purpose: "Ends it all.",
  chat() {
    appendFileSync("ends", ".");
    const way = ways[readFileSync("ends", "utf8").length - 1] ?? ways.at(-1);
    way();
    return new Promise(() => {});
  },
});
`;

/** Starts the command on a free port, and resolves when it serves. */
async function startDev(
  cwd: string,
  args: readonly string[] = [],
): Promise<{ readonly command: RunningCommand; readonly url: string }> {
  const command = startCommand(["dev", "--port=0", ...args], { cwd });
  const [url] = await command.match(/http:\/\/127\.0\.0\.1:\d+/);
  await command.match(/^data /m);
  return { command, url };
}

/** Starts the command as a script that keeps its shell, in a process group as a terminal creates one. */
async function startByNpm(): Promise<RunningCommand> {
  const start = `true && "${process.execPath}" "${main}" dev --port=0; true`;
  const cwd = await createProject({
    "agents/speaker.ts": agentSaying("hello"),
    "package.json": JSON.stringify({ type: "module", scripts: { start } }),
  });
  return startProgram("npm", ["start"], { cwd, hasGroup: true });
}

/** The source of an agent whose chat answers a value. */
function agentOf(value: string): string {
  return `import { defineAgent } from "troupe";
export const speaker = defineAgent({ name: "speaker", purpose: "Says it.", chat: () => ${value} });
`;
}

test("opens the console in a browser with --open", { tags: "long" }, async () => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
  // Stands for the program that opens a browser.
  await writeFile(join(cwd, "xdg-open"), '#!/bin/sh\necho "$1" > opened.txt\n', { mode: 0o755 });
  await writeFile(join(cwd, "open"), '#!/bin/sh\necho "$1" > opened.txt\n', { mode: 0o755 });
  const env = { PATH: `${cwd}:${process.env["PATH"]}` };
  const dev = startCommand(["dev", "--port=0", "--open"], { cwd, env });
  const [url] = await dev.match(/http:\/\/127\.0\.0\.1:\d+/);
  await expect.poll(() => readFile(join(cwd, "opened.txt"), "utf8").catch(() => "")).toBe(`${url}\n`);
});
