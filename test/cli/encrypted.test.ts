/** @module-tag long */
// The commands on a data directory that is encrypted: with its key, without one, and with another one.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { chat, createProject, startCommand } from "./command.ts";
import type { RunningCommand } from "./command.ts";

const CONFIG = `const { OWNERS_KEY = "" } = process.env;
export const encryption = { keyFor: () => (OWNERS_KEY === "" ? undefined : Buffer.alloc(32, OWNERS_KEY)) };
`;

const ASKS = `import { defineAgent } from "troupe";
export const clerk = defineAgent({
  name: "clerk",
  purpose: "Asks.",
  version: "1",
  async chat(input, turn) {
    await turn.text("heard " + input);
    const { ok } = await turn.waitForInput({ ok: "Is it right?" });
    return input + " " + ok;
  },
});
`;

const CANARY = "canary-5d1f";
const RIGHT = { OWNERS_KEY: "right" };

/** What a process is started with, and what it then says of what it cannot read. */
const WRONG = [
  [{ OWNERS_KEY: "wrong" }, "the data of the owner default is encrypted with another key"],
  [{}, "the data of the owner default cannot be read: it has no key"],
  [{ config: "none" }, "cannot be read: it is encrypted, and there are no keys"],
] as const;

test("commands on an encrypted directory work with its key, and say what is missing without it; nothing is lost", async () => {
  const cwd = await createProject({
    "agents/clerk.ts": ASKS,
    "troupe.config.ts": CONFIG,
    "none.ts": "export const webhooks = [];",
  });
  const run = async (args: readonly string[], env = {}): Promise<readonly [number | string, string]> => {
    const command = startCommand(args, { cwd, env });
    return [await command.exited, command.output()];
  };
  const withServer = async (
    data: string,
    given: Given,
    work: (url: string) => Promise<void>,
  ): Promise<void> => {
    const server = startCommand(["serve", "--port=0", "--data", data, ...toConfig(given)], {
      cwd,
      env: toEnv(given),
    });
    const [url] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
    await work(url);
    await ended(server);
  };
  let runId = "";
  await withServer(".troupe", RIGHT, async (url) => {
    for (const request_id of ["one", "gone"])
      ({ run_id: runId } = await chat(url, "clerk", { input: CANARY, request_id }));
  });
  expect(countIn(join(cwd, ".troupe"))).toBe(0);

  // A check reads the turns with the key; without it it does not say that all is well.
  expect(await run(["check"], RIGHT)).toEqual([
    0,
    expect.stringMatching(/^clerk +2 +0 +0 +0\n2 open turns .* All fit\.$/m),
  ]);
  for (const [given, said] of WRONG)
    expect(await run(["check", ...toConfig(given)], toEnv(given))).toEqual([
      2,
      expect.stringContaining(said),
    ]);

  // A copy, and what doctor says, need no key.
  expect(await run(["copy", "--from", ".troupe", "--to", "copied"])).toEqual([
    0,
    expect.stringContaining("SHA-256"),
  ]);
  expect(countIn(join(cwd, "copied"))).toBe(0);
  expect((await run(["doctor", "--data", "copied"]))[1]).toMatch(/✓ data +copied: format \d+/);

  // Without the key a server takes no answer to what it cannot read, and nothing of it changes.
  for (const [given, said] of WRONG)
    await withServer("copied", given, async (url) => {
      const answered = await run(["resume", "one", "ok=yes", "--url", url]);
      expect(answered).toEqual([expect.anything(), expect.stringContaining(said)]);
      expect(answered[0]).not.toBe(0);
    });
  // An erasure says what it lacks: the open turn cannot be canceled. It goes on when the key is there.
  await withServer("copied", WRONG[0][0], async (url) => {
    const erased = await run(["erase", "--run", runId, "--yes", "--url", url]);
    expect(erased).toEqual([69, expect.stringContaining(WRONG[0][1])]);
  });
  await withServer("copied", RIGHT, async (url) => {
    expect((await run(["resume", "one", "ok=yes", "--url", url]))[0]).toBe(0);
    expect((await run(["events", "one", "--url", url]))[1]).toContain(`${CANARY} yes`);
    await expect.poll(async () => (await fetch(`${url}/request/gone`)).status).toBe(410);
  });
});

interface Given {
  readonly OWNERS_KEY?: string;
  readonly config?: string;
}

function toConfig({ config }: Given): readonly string[] {
  return config === undefined ? [] : ["--config", `${config}.ts`];
}

function toEnv({ OWNERS_KEY = "" }: Given): Readonly<Record<string, string>> {
  return { OWNERS_KEY };
}

async function ended(server: RunningCommand): Promise<void> {
  server.kill();
  expect(await server.exited).toBe(0);
}

/** How often a text is in the files of a directory. */
function countIn(directory: string): number {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), "latin1").split(CANARY).length - 1)
    .reduce((sum, count) => sum + count, 0);
}
