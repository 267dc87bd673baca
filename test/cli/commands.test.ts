import { execFile, spawnSync } from "node:child_process";
import { readFile, symlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createClient } from "troupe/client";
import { beforeAll, describe, expect, test } from "vitest";
import {
  afterLastTest,
  agentSaying,
  createProject,
  hasTerminal,
  main,
  startCommand,
  startOnTerminal,
  startProgram,
} from "./command.ts";
import type { RunningCommand } from "./command.ts";
import { EXIT } from "../../src/cli/exit.ts";
import { json, startHostile } from "../client/hostile-server.ts";
import { findFreeUrl } from "../machine/free-port.ts";
import { skipWithoutScript, skipWithoutShells } from "../machine/skip-without.ts";

const root = resolve(import.meta.dirname, "../..");

let url = "";
let cwd = "";
const atEnd = afterLastTest();
beforeAll(async () => {
  cwd = await createProject({}, atEnd);
  const agents = `--agents=${join(root, "agents")}`;
  const server = startCommand(["serve", "--port=0", agents], { cwd, atEnd });
  [url] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
});

describe("call", () => {
  test("prints the output alone on stdout, from JSON, options or a file", async () => {
    const given = await run(["call", "echo", "repeat", '{"text":"ho","times":2}']);
    expect(given).toMatchObject({ code: 0, stdout: '{"text":"hoho"}\n' });
    expect(given.stderr).toMatch(/echo\.repeat {3}run_[\w-]+\n/);
    expect(given.stderr).toMatch(/✓ worked \d+ ms/);

    expect(await run(["call", "echo", "repeat", "--text", "hi", "--times=3"])).toMatchObject({
      code: 0,
      stdout: '{"text":"hihihi"}\n',
    });
    expect(await run(["call", "echo", "repeat", "-"], '{"text":"a","times":1}')).toMatchObject({
      stdout: '{"text":"a"}\n',
    });
  });

  test("prints one event a line and nothing else with --json", async () => {
    const { code, stdout } = await run(["call", "--json", "calculator", "add", '{"a":1,"b":2}']);
    expect(code).toBe(0);
    const events = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { readonly type: string });
    expect(events[0]?.type).toBe("RequestStarted");
    expect(events.at(-1)).toMatchObject({ type: "RequestCompleted", output: { value: 3 } });
  });

  test(
    "leaves a question open without a terminal, and another command answers it",
    { tags: "long" },
    async () => {
      const asked = await run([
        "call",
        "--request-id",
        "pay-1",
        "payments",
        "pay",
        '{"to":"bob","amount":3}',
      ]);
      expect(asked).toMatchObject({ code: 4, stdout: "" });
      expect(asked.stderr).toContain("pay-1 waits for an answer: Pay 3 to bob?");
      expect(asked.stderr).toContain("troupe resume pay-1 approved=…");

      expect((await run(["waits"])).stdout).toMatch(/^pay-1 +payments .*approved: Pay 3 to bob\?$/m);
      expect((await run(["waits", "--asked-by", "payments"])).stdout).toMatch(/^pay-1 /m);
      expect(await run(["waits", "--asked-by", "echo"])).toMatchObject({ code: 0, stdout: "" });
      expect(await run(["waits", "--asked-by", "nobody"])).toMatchObject({ code: 66, stdout: "" });
      // The question names no role, so somebody with any role may answer it.
      expect((await run(["waits", "--approver", "finance"])).stdout).toMatch(/^pay-1 /m);
      const other = await run(["resume", "pay-1", "--wait", "99", "approved=true"]);
      expect(other).toMatchObject({ code: 1, stdout: "" });
      expect(other.stderr).toContain("pay-1 has no open question 99\n  --wait 2  Pay 3 to bob?");
      expect(await run(["resume", "pay-1", "approved=maybe"])).toMatchObject({ code: 2, stdout: "" });
      expect(await run(["resume", "pay-1", "approved=true"])).toMatchObject({
        code: 0,
        stdout: '{"receipt":"bob:3"}\n',
      });
      expect(await run(["waits"])).toEqual({ code: 0, stdout: "", stderr: "no question is open\n" });
      expect(await run(["runs", "-q", "nothing like it"])).toEqual({
        code: 0,
        stdout: "",
        stderr: "no run fits\n",
      });
      expect((await run(["events", "pay-1", "--tree"])).stdout).toContain("? Pay 3 to bob?  answered");
    },
  );

  test("says what is wrong with a call and how to mend it", { tags: "long" }, async () => {
    const cases: readonly (readonly [args: readonly string[], code: number, ...texts: readonly string[]])[] =
      [
        [["call", "payment", "pay"], 66, "there is no agent payment", "did you mean payments?"],
        [["call", "payments", "pai"], 2, "payments has no operation pai", "did you mean pay?"],
        [["call", "payments", "pya"], 2, "payments has no operation pya", "did you mean pay?"],
        [
          ["call", "payments", "pay", "--to", "bob"],
          2,
          "lacks amount",
          "pay takes { to: string, amount: number, within_s?: number }",
        ],
        [["call", "payments", "pay", "--too", "bob"], 2, "did you mean --to?"],
        [["call", "payments", "pay", "--amount", "x"], 2, "--amount x: not a number"],
        [["call", "payments", "pay", "--foo", "1"], 2, "its fields: --to, --amount, --within_s"],
        [["call", "payments", "pay", "{to:1}"], 2, "the input is not JSON", "--to … --amount …"],
        [["call", "echo", "chat", "hello"], 2, "the input is not JSON", "--input …"],
        [["call", "payments", "pay", "@nowhere.json"], 2, "nowhere.json cannot be read: ENOENT"],
        [
          ["call", "payments", "pay", '{"to":"bob","amount":"x"}'],
          2,
          "does not fit: amount",
          "pay takes { to: string, amount: number, within_s?: number }",
        ],
        [
          ["call", "payments", "pay", "{}", "--url", "http://127.0.0.1:1"],
          2,
          "--url stands after the operation",
          "troupe call --url … payments pay",
        ],
        [["call", "payments", "pay", "--to", "bob", "--run"], 2, "'--run <id>' argument missing"],
        [["call", "payments", "pay", "--to", "bob", "--run=a b"], 2, "An id has 1 to 128 letters"],
        [["call", "payments"], 2, "missing required argument 'operation'", "troupe help call"],
        [["help", "calls"], 2, "there is no command calls", "did you mean call?"],
        [["help", "nope"], 2, "there is no command nope", "troupe --help lists the commands"],
        [["events", "run_unknown"], 66, "run_unknown", "troupe runs"],
        [
          ["events", "run_unknown", "--tree", "--follow"],
          2,
          "'--tree' cannot be used with option '--follow'",
        ],
        [["fork", "run_unknown", "--after", "x"], 2, "--after <id>"],
        [["cancel", "req_unknown"], 66, "req_unknown", "troupe runs"],
      ];
    for (const [args, code, ...texts] of cases) {
      const { code: given, stdout, stderr } = await run(args);
      expect([args, given, stdout]).toEqual([args, code, ""]);
      for (const text of texts) expect(stderr).toContain(text);
    }
  });

  test(
    "takes its options behind the input too, where a field of the same name wins",
    { tags: "long" },
    async () => {
      const { code, stdout } = await run([
        "call",
        "echo",
        "repeat",
        '{"text":"hi","times":2}',
        "--json",
        "--request-id=behind-1",
      ]);
      expect(code).toBe(0);
      const events = stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as { request_id?: string });
      expect(events.length).toBeGreaterThan(1);
      expect(events.every(({ request_id: id }) => id === "behind-1")).toBe(true);
    },
  );

  test("shows the help of an operation, and the operations of an agent", { tags: "long" }, async () => {
    const help = await run(["call", "payments", "pay", "--help"]);
    expect(help).toMatchObject({ code: 0, stderr: "" });
    expect(help.stdout).toMatch(/^pay\({ to: string, amount: number, within_s\?: number }\): /);
    expect(help.stdout).toMatch(/^--to +string/m);
    expect(help.stdout).toMatch(/^--within_s +number, optional/m);
    const { code, stdout } = await run(["call", "payments", "--help"]);
    expect(code).toBe(0);
    expect(stdout.match(/^\w+(?=\()/gm)).toEqual(["chat", "pay"]);
  });

  test("ends with the code of a turn that failed", async () => {
    const { code, stderr } = await run(["call", "calculator", "divide", '{"a":1,"b":0}']);
    expect(code).toBe(1);
    expect(stderr).toContain("the turn failed: agent_error");
    expect(stderr).toMatch(/^troupe events req_\w+ --tree$/m);
  });

  test("reports each fault of an input once", { tags: "long" }, async () => {
    const { stderr } = await run(["call", "payments", "pay", '{"to":"bob","amount":"x"}']);
    expect(stderr.match(/expected number/g)).toHaveLength(1);
  });

  test("a cancel says whether the request had ended before", { tags: "long" }, async () => {
    await run(["call", "--request-id", "ended-1", "echo", "repeat", '{"text":"ho","times":1}']);
    const ended = await run(["cancel", "ended-1"]);
    expect(ended).toMatchObject({ code: 0, stdout: "", stderr: "ended-1 had already ended: success\n" });

    await run(["call", "--request-id", "open-1", "payments", "pay", '{"to":"bob","amount":3}']);
    expect((await run(["cancel", "open-1"])).stderr).toBe("open-1 is canceled\n");
    expect((await run(["cancel", "open-1"])).stderr).toBe("open-1 is canceled\n");
  });
});

describe("a terminal", () => {
  test("is asked for what the input lacks and for the agent's question", async ({ skip }) => {
    if (!hasTerminal) skipWithoutScript(skip);
    const terminal = startTerminal(["call", "payments", "pay", "--to", "bob"]);
    await terminal.match(/amount/);
    await terminal.type("3\r");
    await terminal.match(/Pay 3 to bob\?/);
    await terminal.type("y");
    await terminal.match(/\{"receipt":"bob:3"\}/);
    expect(await terminal.exited).toBe(0);
  });

  test("leaves the turn running with Ctrl-C", { tags: "long" }, async ({ skip }) => {
    if (!hasTerminal) skipWithoutScript(skip);
    const terminal = startTerminal([
      "call",
      "--request-id",
      "count-1",
      "ticker",
      "count",
      "--to",
      "1000",
      "--every_ms",
      "50",
    ]);
    await terminal.match(/ {2}5\b/);
    await terminal.type("\u0003");
    await terminal.match(/The turn goes on\./);
    await terminal.match(/troupe cancel count-1/);
    expect(await terminal.exited).toBe(130);
    expect((await run(["cancel", "count-1"])).code).toBe(0);
    const ended = await run(["events", "count-1", "--follow", "--json"]);
    expect(ended.stdout.trim().split("\n").at(-1)).toContain('"finish_reason":"canceled"');
  });

  test(
    "shows a file that is a text, and says how to download another one",
    { tags: "long" },
    async ({ skip }) => {
      if (!hasTerminal) skipWithoutScript(skip);
      const files = createClient(url);
      const data = "\u001b[31mDear Ada\n";
      const letter = await files.upload({ name: "letter.txt", mimeType: "text/plain", data });
      const text = startTerminal(["artifact", letter.artifactId]);
      await text.match(/^\uFFFD\[31mDear Ada\r?$/m);
      expect(await text.exited).toBe(0);

      const photo = await files.upload({ name: "photo.png", mimeType: "image/png", data: "\u0089PNG" });
      const image = startTerminal(["artifact", photo.artifactId]);
      expect(await image.exited).toBe(2);
      await image.match(/is not a text.*\s+its type is image\/png\r?\n/);
      await image.match(new RegExp(`^troupe artifact ${photo.artifactId} -o FILE`, "m"));
      expect(image.output()).not.toContain("PNG");
      expect((await run(["artifact", photo.artifactId])).stdout).toBe("\u0089PNG");
    },
  );

  test("has no conversation under one request id", { tags: "long" }, async ({ skip }) => {
    if (!hasTerminal) skipWithoutScript(skip);
    const terminal = startTerminal(["chat", "--request-id", "talk-1", "notebook"]);
    await terminal.match(/troupe chat --request-id talk-1 notebook TEXT/);
    expect(await terminal.exited).toBe(2);
  });

  test("has a conversation in one run", async ({ skip }) => {
    if (!hasTerminal) skipWithoutScript(skip);
    const terminal = startTerminal(["chat", "notebook"]);
    await terminal.match(/> /);
    await terminal.type("buy milk\r");
    await terminal.match(/1\. buy milk/);
    await terminal.type("call Ada\r");
    await terminal.match(/2\. call Ada/);
    await terminal.type("/quit\r");
    await terminal.match(/troupe events run_[\w-]+ --tree/);
    expect(await terminal.exited).toBe(0);
  });
});

describe("chat", () => {
  test("prints the answer alone on stdout", { tags: "long" }, async () => {
    expect(await run(["chat", "echo", "hello", "there"])).toMatchObject({ code: 0, stdout: "hello there\n" });
    expect(await run(["chat", "echo", "-"], "from a pipe")).toMatchObject({
      code: 0,
      stdout: "from a pipe\n",
    });
    expect(await run(["chat", "echo"])).toMatchObject({ code: 2 });
  });

  test("ends the line of a text whose turn fails", { tags: "long" }, async () => {
    const failing = agentSaying("half").replace("; }", "; throw new Error('no more'); }");
    const project = await createProject({ "agents/speaker.ts": failing });
    const server = startCommand(["serve", "--port=0"], { cwd: project });
    const [address] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
    const failed = await run(["chat", "speaker", "hello"], "", { TROUPE_URL: address });
    expect(failed).toMatchObject({ code: 1, stdout: "half\n" });
  });
});

describe("resume", () => {
  test("prints the text of a chat alone on stdout", { tags: "long" }, async () => {
    const asked = await run(["chat", "--request-id", "told-1", "payments", "pay 5 to eve"]);
    expect(asked).toMatchObject({ code: 4, stdout: "" });
    const resumed = await run(["resume", "told-1", "approved=true"]);
    const { stdout: events } = await run(["events", "told-1", "--json"]);
    const [, said = ""] = /"result":"([^"]+)"/.exec(events.slice(events.indexOf("RequestCompleted"))) ?? [];
    expect(said).toContain("eve");
    expect(resumed).toMatchObject({ code: 0, stdout: `${said}\n` });
  });
});

describe("options before the command", () => {
  test("mean what they mean behind it", { tags: "long" }, async () => {
    const nowhere = { TROUPE_URL: "http://127.0.0.1:9" };
    for (const args of [
      ["--url", url, "agents"],
      [`--url=${url}`, "runs", "--json"],
    ])
      expect(await run(args, "", nowhere)).toMatchObject({ code: 0, stderr: "" });
    const called = await run([
      "--json",
      "--request-id",
      "early-1",
      "call",
      "calculator",
      "add",
      '{"a":1,"b":2}',
    ]);
    expect(called.code).toBe(0);
    expect(called.stdout).toContain('"request_id":"early-1"');
  });

  test("are refused by a command that does not have them", { tags: "long" }, async () => {
    const refused = await run(["--json", "fork", "run_1"]);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain("unknown option '--json'");
    expect((await run(["--nothing", "agents"])).stderr).toContain("unknown option '--nothing'");
    expect((await run(["--url", url])).stderr).toContain("troupe --help");
  });
});

describe("runs, events and files", () => {
  test("are listed, shown as a tree, forked, downloaded and removed", { tags: "long" }, async () => {
    await run(["chat", "team", "the moon"]);
    const listed = await run(["runs", "--json", "--agent", "team"]);
    const { run_id: id } = JSON.parse(listed.stdout) as { readonly run_id: string };
    expect((await run(["runs"])).stdout).toContain("the moon");
    expect((await run(["events", id])).stdout).toMatch(
      /^ +1 {2}\d\d:\d\d:\d\d {2}team +RequestStarted +chat /m,
    );
    expect((await run(["events", id, "--tree"])).stdout).toMatch(
      /^● team\.chat .*success .*\n└ ● researcher/,
    );

    const fork = await run(["fork", id]);
    expect(fork.stdout).toMatch(/^run_[\w-]+\n$/);
    expect(await run(["remove", id])).toMatchObject({ code: 0, stdout: "" });
    expect((await run(["events", id])).code).toBe(66);

    await run([
      "call",
      "--request-id",
      "pay-4",
      "--key",
      "till",
      "payments",
      "pay",
      '{"to":"bob","amount":3}',
    ]);
    const { stdout: open } = await run(["runs", "--json", "-q", "till"]);
    const busy = await run(["remove", (JSON.parse(open) as { readonly run_id: string }).run_id]);
    expect(busy).toMatchObject({ code: 1, stdout: "" });
    expect(busy.stderr).toContain("cancel pay-4, or wait for its end");
    await run(["cancel", "pay-4"]);

    await run(["chat", "pdf-writer", "Moon: It is far away."]);
    const { stdout: runs } = await run(["runs", "--json", "--agent", "pdf-writer"]);
    const events = await run(["events", (JSON.parse(runs) as { readonly run_id: string }).run_id, "--json"]);
    const [, file = ""] = /"artifact_id":"([^"]+)"/.exec(events.stdout) ?? [];
    expect((await run(["artifact", file, "-o", "moon.pdf"])).code).toBe(0);
    const nowhere = await run(["artifact", file, "-o", "no/folder.pdf"]);
    expect(nowhere).toMatchObject({ code: 1, stderr: "troupe: no/folder.pdf cannot be written: ENOENT\n" });
    expect((await readFile(join(cwd, "moon.pdf"))).subarray(0, 5).toString()).toBe("%PDF-");
  });

  test(
    "are listed from as many pages as needed, also if a page of a search is empty",
    { tags: "long" },
    async () => {
      const row = (id: string): object => ({
        run_id: id,
        agent: "fiend",
        status: "idle",
        turns: 1,
        updated_at: "2026-01-01T00:00:00.000Z",
        initial_input: "hello",
        queued: 0,
      });
      const pages = [[row("run_1")], [], [row("run_2")], [row("run_3")]];
      await using far = await startHostile({
        runs(response, request) {
          const at = Number(new URL(request.url ?? "", "http://localhost").searchParams.get("cursor"));
          response.setHeader("link", `</runs?q=hello&cursor=${at + 1}>; rel="next"`);
          json(pages[at])(response, request);
        },
      });
      const { stdout } = await run(["runs", "-q", "hello", "--limit", "2", "--json"], "", {
        TROUPE_URL: far.url,
      });
      expect(stdout.match(/run_\d/g)).toEqual(["run_1", "run_2"]);
    },
  );

  test(
    "are watched: each run is printed again when it changes, and when it is removed",
    { tags: "long" },
    async () => {
      await run(["chat", "echo", "before"]);
      const watching = startCommand(["runs", "--watch", "--url", url], { cwd });
      await watching.match(/run_[\w-]+ +echo .* before\n/);
      await run(["call", "--request-id", "pay-2", "payments", "pay", '{"to":"eve","amount":3}']);
      const [, id = ""] = await watching.match(/(run_[\w-]+) +payments +waiting .*eve/);
      await run(["resume", "pay-2", "approved=true"]);
      await watching.match(new RegExp(`${id} +payments +success .*eve`));
      await run(["remove", id]);
      await watching.match(new RegExp(`${id} +removed`));
      watching.kill("SIGINT");
      expect(await watching.exited).toBe("SIGINT");
    },
  );

  test("are watched only of one agent", { tags: "long" }, async () => {
    const watching = startCommand(["runs", "--watch", "--agent", "team", "--url", url], { cwd });
    await run(["chat", "echo", "not of the team"]);
    await run(["chat", "team", "the tides"]);
    await watching.match(/run_[\w-]+ +team .*the tides/);
    expect(watching.output()).not.toMatch(/ {2}echo {2}/);
    for (const filter of [
      ["--status", "idle"],
      ["-q", "tides"],
    ])
      expect(await run(["runs", "--watch", ...filter])).toMatchObject({ code: 2, stdout: "" });
    for (const list of [["runs"], ["runs", "--watch"], ["waits"]]) {
      const refused = await run([...list, "--agent", "taem"]);
      expect(refused).toMatchObject({ code: 66, stdout: "" });
      expect(refused.stderr).toContain("did you mean team?");
    }
  });

  test(
    "the events of a turn that runs are printed without a wait for its end",
    { tags: "long" },
    async () => {
      startCommand(["chat", "--request-id", "far-1", "ticker", "2 600000"], {
        cwd,
        env: { TROUPE_URL: url },
      });
      await expect.poll(async () => (await run(["events", "far-1"])).stdout).toMatch(/Sleeping/);
      const { stdout: listed } = await run(["runs", "--json", "--agent", "ticker", "--status", "running"]);
      const { run_id: id } = JSON.parse(listed) as { readonly run_id: string };
      expect(await run(["events", id, "--tree"])).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^● ticker\.chat /) as string,
      });
      await run(["cancel", "far-1"]);
    },
  );

  test("a request is followed to its end over its question", { tags: "long" }, async () => {
    await run(["call", "--request-id", "pay-3", "payments", "pay", '{"to":"eve","amount":5}']);
    const following = startCommand(["events", "pay-3", "--follow"], { cwd, env: { TROUPE_URL: url } });
    await following.match(/WaitForInput/);
    await run(["resume", "pay-3", "approved=true", "--no-follow"]);
    await following.match(/RequestCompleted/);
    expect(await following.exited).toBe(0);
  });
});

test("a command whose output is no longer read ends, and its turn continues", { tags: "long" }, async () => {
  const firstLine = async (line: string): Promise<string> => {
    const command = `"${process.execPath}" "${main}" ${line}`;
    const program = startProgram("bash", ["-c", `${command} | head -n 1; echo "code \${PIPESTATUS[0]}"`], {
      cwd,
      env: { TROUPE_URL: url },
      hasGroup: true,
    });
    await program.exited;
    return program.output();
  };
  const count = "ticker count --to 100000 --every_ms 20";
  const called = await firstLine(`call --json --request-id piped-1 ${count}`);
  expect(called).toMatch(/^\{.*"RequestStarted".*\}$/m);
  expect(called).toMatch(/The turn goes on\./);
  expect(called).toMatch(/^code 130$/m);
  for (const line of ["events piped-1 --follow", "events piped-1 --follow --json"]) {
    expect(await firstLine(line)).toMatch(/^.*RequestStarted.*\ncode 0\n$/);
  }
  expect((await run(["cancel", "piped-1"])).stderr).toBe("piped-1 is canceled\n");
});

describe("completion", () => {
  test("knows commands, options, agents, operations, fields and ids", { tags: "long" }, async () => {
    const complete = async (...words: string[]): Promise<string[]> =>
      (await run(["complete", "--", ...words])).stdout.split("\n").filter((line) => line !== "");
    expect(await complete("ca")).toEqual(["call", "cancel"]);
    expect(await complete("serve", "--wi")).toEqual(["--wires"]);
    expect(await complete("serve", "--durability", "")).toEqual(["full", "relaxed"]);
    expect(await complete("init", "--template", "ch")).toEqual(["chat"]);
    // It waits 300 ms for the server, which a loaded machine may exceed.
    await expect.poll(() => complete("call", "pa")).toEqual(["payments"]);
    await expect.poll(() => complete("call", "payments", "")).toEqual(["chat", "pay"]);
    await expect.poll(() => complete("--url", url, "call", "pa")).toEqual(["payments"]);
    await expect.poll(() => complete("call", "--url", url, "payments", "")).toEqual(["chat", "pay"]);
    await expect.poll(() => complete("call", "payments", "pay", "--a")).toEqual(["--amount"]);
    await run(["chat", "echo", "hello"]);
    await expect.poll(() => complete("events", "run_")).toContainEqual(expect.stringMatching(/^run_/));
  });

  test("gives nothing and no error without a server", { tags: "long" }, async () => {
    const given = await run(["complete", "--", "call", ""], "", { TROUPE_URL: "http://127.0.0.1:9999" });
    expect(given).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  test("of bash completes what is typed", { tags: "long" }, async () => {
    const script = `troupe() { "${process.execPath}" "${main}" "$@"; }
source <(troupe completion bash)
COMP_WORDS=(troupe describe pay); COMP_CWORD=2
# A shell does not wait for a server that is slow to answer, as one is on a busy machine.
until [[ \${#COMPREPLY[@]} -gt 0 ]]; do _troupe; done
echo "\${COMPREPLY[@]}"`;
    const bash = startProgram("bash", ["-c", script], { cwd, env: { TROUPE_URL: url } });
    await expect(bash.match(/^payments$/m)).resolves.toBeTruthy();
  });

  test.for(["a folder of functions", "a file that is sourced"])(
    "of zsh completes what is typed, from %s",
    { tags: "long" },
    async (place, { skip }) => {
      if (!hasShells) skipWithoutShells(skip);
      const { stdout } = await run(["completion", "zsh"]);
      const folder = await createProject({ _troupe: stdout });
      const load = place.startsWith("a folder")
        ? `fpath=(${folder} $fpath); autoload -Uz _troupe`
        : `source ${folder}/_troupe`;
      // What the shell does when somebody types a tab.
      const script = `troupe() { "${process.execPath}" "${main}" "$@" }
compdef() { complete=$1 }; compadd() { shift; taken=(\${(P)1}) }
complete=_troupe; ${load}
words=(troupe describe pay); CURRENT=3
until [[ -n $taken ]]; do $complete; done
echo found $taken`;
      const zsh = startProgram("zsh", ["-fc", script], { cwd: folder, env: { TROUPE_URL: url } });
      await expect(zsh.match(/^found payments/m)).resolves.toBeTruthy();
    },
  );

  test("of fish completes what is typed", { tags: "long" }, async ({ skip }) => {
    if (!hasShells) skipWithoutShells(skip);
    const script = `function troupe; "${process.execPath}" "${main}" $argv; end
troupe completion fish | source
while test -z "$found"; set found (complete -C "troupe describe pay"); end
echo found $found; complete -C "troupe serve --durab"`;
    const fish = startProgram("fish", ["--no-config", "-c", script], { cwd, env: { TROUPE_URL: url } });
    await expect(fish.match(/^found payments$/m)).resolves.toBeTruthy();
    await expect(fish.match(/^--durability$/m)).resolves.toBeTruthy();
  });
});

test("the help has the commands in groups, examples and all exit codes", { tags: "long" }, async () => {
  const { stdout } = await run(["--help"]);
  for (const heading of ["Serve agents:", "Talk to a server:", "Check and set up:", "Examples:"])
    expect(stdout).toContain(`\n${heading}\n`);
  const [, listed = ""] = stdout.split("Exit codes: ");
  expect(listed.match(/\b\d+\b/g)?.map(Number)).toEqual([0, ...Object.values(EXIT)]);
});

describe("agents", () => {
  test("are listed and described as one would type them", { tags: "long" }, async () => {
    expect((await run(["agents"])).stdout).toMatch(/^payments +chat pay +Makes a payment/m);
    expect((await run(["describe", "payments"])).stdout).toContain(
      "pay({ to: string, amount: number, within_s?: number }): { receipt?: string }",
    );
  });
});

describe("a server", () => {
  test(
    "is found by the note of the data directory, and named when it does not answer",
    { tags: "long" },
    async () => {
      expect((await run(["agents"], "", { TROUPE_URL: "" })).code).toBe(0);
      const gone = await run(["agents", "--url", "http://127.0.0.1:9999"]);
      expect(gone).toMatchObject({ code: 69, stdout: "" });
      expect(gone.stderr).toContain("no server answers at http://127.0.0.1:9999");
      expect(gone.stderr).toContain("npx troupe dev");
    },
  );

  test.each(["runs --watch", "events run_1", "events run_1 --follow"])(
    "that does not answer ends troupe %s at once",
    { tags: "long" },
    async (line) => {
      const gone = await run([...line.split(" "), "--url", await findFreeUrl()]);
      expect(gone).toMatchObject({ code: 69, stdout: "" });
      expect(gone.stderr).toContain("npx troupe dev");
    },
  );

  test.each([
    ["events away-1 --follow", /WaitForInput/, 0],
    ["call ticker count --to 100 --every_ms 50", / {2}2\b/, 0],
    ["runs --watch", /waiting/, "SIGINT"],
  ])(
    "that is killed and started again is named by troupe %s when it is gone and when it is back",
    { tags: "long" },
    async (line, shown, end) => {
      const project = await createProject({});
      const address = await findFreeUrl();
      const serve = [
        "serve",
        "--port",
        new URL(address).port,
        "--data=data",
        `--agents=${join(root, "agents")}`,
      ];
      const first = startCommand(serve, { cwd: project });
      await first.match(/http:/);
      await run(["call", "--request-id", "away-1", "--url", address, "payments", "pay", PAYMENT]);
      const command = startCommand(line.split(" "), { cwd: project, env: { TROUPE_URL: address } });
      await command.match(shown);

      first.kill("SIGKILL");
      await command.match(/no connection to http:\/\/127\.0\.0\.1:\d+; trying again/);
      const second = startCommand(serve, { cwd: project });
      await second.match(/http:/);
      await command.match(/connected again to http:/);
      await run(["resume", "away-1", "approved=true", "--url", address]);
      if (end === "SIGINT") command.kill(end);
      expect(await command.exited).toBe(end);
      expect(command.output().match(/no connection/g)).toHaveLength(1);
      expect(command.output().match(/connected again/g)).toHaveLength(1);
    },
  );

  test("that is killed during an answer changes nothing of it in a pipe", { tags: "long" }, async () => {
    const project = await createProject({ "agents/halting.ts": HALTING });
    await symlink(join(root, "node_modules/zod"), join(project, "node_modules/zod"));
    const address = await findFreeUrl();
    const serve = ["serve", "--port", new URL(address).port];
    const first = startCommand(serve, { cwd: project });
    await first.match(/http:/);
    const chat = `"${process.execPath}" "${main}" chat --key=tale halting hello`;
    const answer = startProgram("bash", ["-c", `set -o pipefail; ${chat} | cat > answer`], {
      cwd: project,
      env: { TROUPE_URL: address },
      hasGroup: true,
    });
    const shown = () => readFile(join(project, "answer"), "utf8").catch(() => "");
    await expect.poll(shown).toBe("one ");

    first.kill("SIGKILL");
    await answer.match(/no connection/);
    const second = startCommand(serve, { cwd: project });
    await second.match(/http:/);
    await answer.match(/connected again/);
    const message = { type: "Message", name: "continue", body: "", key: "tale" };
    const headers = { "content-type": "application/json" };
    await fetch(`${address}/halting/process`, { method: "POST", headers, body: JSON.stringify(message) });
    expect(await answer.exited).toBe(0);
    expect(await shown()).toBe("one two\n");
  });

  test("that wants a token gets it from TROUPE_TOKEN", { tags: "long" }, async () => {
    const project = await createProject({});
    const agents = `--agents=${join(root, "agents")}`;
    const server = startCommand(["serve", "--port=0", agents], {
      cwd: project,
      env: { TROUPE_TOKEN: "right" },
    });
    const [guarded] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
    const refused = await run(["agents", "--url", guarded]);
    expect(refused).toMatchObject({ code: 77, stdout: "" });
    expect(refused.stderr).toContain("export TROUPE_TOKEN");
    expect((await run(["agents", "--url", guarded], "", { TROUPE_TOKEN: "right" })).code).toBe(0);
  });
});

/** Says two words, the second after a message. */
const HALTING = `import { defineAgent } from "troupe";
import { z } from "zod";
export const halting = defineAgent({
  name: "halting",
  purpose: "Says two words.",
  messages: { continue: z.string() },
  async chat(_, turn) {
    await turn.text("one ");
    await turn.receive("continue");
    await turn.text("two");
  },
});`;

const PAYMENT = '{"to":"eve","amount":5}';

interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command without a terminal. */
function run(args: readonly string[], input = "", env: Record<string, string> = {}): Promise<Finished> {
  return new Promise((fulfil) => {
    const options = {
      cwd,
      env: { ...process.env, NO_COLOR: "1", TROUPE_URL: url, TROUPE_TOKEN: "", ...env },
    };
    const child = execFile(process.execPath, [main, ...args], options, (error, stdout, stderr) => {
      fulfil({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
    child.stdin?.end(input);
  });
}

const hasShells = ["zsh", "fish"].every((shell) => spawnSync(shell, ["-c", "true"]).status === 0);
/** Runs a command on a terminal. */
function startTerminal(args: readonly string[]): RunningCommand {
  return startOnTerminal(args, { cwd, env: { TROUPE_URL: url } });
}
