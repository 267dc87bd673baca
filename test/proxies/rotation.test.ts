/** @module-tag long */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { startCommand } from "../cli/command.ts";
import { newProject } from "../deploys/server.ts";
import { findFreePort } from "../machine/free-port.ts";
import { needsPostgres } from "../machine/postgres.ts";
import { skipWithoutProxies } from "../machine/skip-without.ts";
import { newDatabase } from "../storage/postgres/databases.ts";
import { Load } from "./load.ts";
import { clusterNode } from "./node.ts";
import { PROXIES, findProxy, startProxy } from "./proxy.ts";
import { AGENTS } from "./roll.ts";

needsPostgres();

const KEYED = `import { defineAgent } from "troupe";
import { z } from "zod";
export const keyed = defineAgent({
  name: "keyed", purpose: "Says its secret.", config: z.object({ api_key: z.string().default("none") }),
  chat: (_input, turn) => turn.config.api_key,
});
`;

const [OLD_KEY, NEW_KEY] = ["the old key of thirty-two characters", "the new key of thirty-two characters"];

/** What both variables have in each round: the second key is known before the first node uses it. */
const ROUNDS = [`${OLD_KEY},${NEW_KEY}`, `${NEW_KEY},${OLD_KEY}`, NEW_KEY];

const toEnv = (value: string): Readonly<Record<string, string>> => ({
  TROUPE_SECRETS_KEY: value,
  TROUPE_CLUSTER_SECRET: value,
  TROUPE_DRAIN_SECONDS: "3",
});

test("both secrets of two nodes are replaced under load: no request fails, no node refuses another, each secret is read after it", async ({
  skip,
}) => {
  const proxy = PROXIES.find((name) => findProxy(name) !== undefined);
  if (proxy === undefined) skipWithoutProxies(skip);
  const project = await newProject();
  onTestFinished(() => project.remove());
  await writeFile(join(project.folder, "agents/all.ts"), AGENTS);
  await writeFile(join(project.folder, "agents/keyed.ts"), KEYED);
  const database = await newDatabase();
  const nodes = await Promise.all(
    [1, 2].map(async () => clusterNode(project.folder, database, await findFreePort(), await findFreePort())),
  );
  for (const node of nodes) onTestFinished(async () => void (await node.stop()));
  for (const node of nodes) await node.start(toEnv(OLD_KEY));
  const running = await startProxy(proxy, [...nodes.map(({ address }) => address), "127.0.0.1:9"]);
  onTestFinished(async () => running[Symbol.asyncDispose]());

  const load = new Load(running.url);
  const secrets = new Secrets(running.url);
  let isOver = false;
  const working = Promise.all([load.run(3, () => isOver), secrets.run(() => isOver)]);
  const doctor = async (key: string): Promise<string> => {
    const command = startCommand(["doctor"], {
      cwd: project.folder,
      env: { ...toEnv(key), TROUPE_LOG: database },
    });
    await command.exited;
    return command.output();
  };
  try {
    await expect.poll(() => secrets.known).toBeGreaterThan(2);
    for (const value of ROUNDS) {
      const before = secrets.known;
      for (const node of nodes) {
        expect(await node.stop()).toBe(0);
        await node.start(toEnv(value));
      }
      await expect.poll(() => secrets.known).toBeGreaterThan(before);
      if (value !== ROUNDS[1]) continue;
      for (const node of nodes)
        await expect.poll(async () => (await node.readiness()).text).toContain("drop the others");
      await expect.poll(() => doctor(value)).toContain("drop the others");
    }
  } finally {
    isOver = true;
    await working;
  }
  await secrets.readAll();
  expect([...load.report.failures, ...secrets.failures]).toEqual([]);
  for (const node of nodes)
    expect(node.output).not.toMatch(/another secret|refuses the messages|does not decrypt/);
  for (const node of nodes) expect((await node.readiness()).text).not.toContain("secrets");
  expect(await doctor(NEW_KEY)).not.toMatch(/not readable/);
  expect(await doctor(OLD_KEY)).toMatch(/stored secrets or kept versions are not readable with the key/);
  expect(await doctor(`${OLD_KEY},${NEW_KEY}`)).toMatch(/0 are under the first key and \d+ under older ones/);
  expect(await doctor("")).toContain("TROUPE_SECRETS_KEY is not set");
});

/** Runs that are configured with a secret, and that say it. */
class Secrets {
  readonly failures: string[] = [];
  readonly #url: string;
  readonly #runs = new Map<string, string>();

  constructor(url: string) {
    this.#url = url;
  }

  get known(): number {
    return this.#runs.size;
  }

  async run(isOver: () => boolean): Promise<void> {
    for (let number = 0; !isOver(); number += 1) {
      try {
        const { run_id: runId } = await this.#post("process?wait=completed", { input: "" });
        const secret = `secret-${number}`;
        await this.#post("configure", { run_id: runId, args: { api_key: secret } });
        this.#runs.set(String(runId), secret);
        await this.#read(String(runId), secret);
      } catch (thrown) {
        this.failures.push(String(thrown));
      }
      await setTimeout(100);
    }
  }

  async readAll(): Promise<void> {
    for (const [runId, secret] of this.#runs) await this.#read(runId, secret);
  }

  async #read(runId: string, secret: string): Promise<void> {
    const { result } = await this.#post("process?wait=completed", { run_id: runId, input: "" });
    if (result !== secret) throw new Error(`the run with ${secret} said ${JSON.stringify(result)}`);
  }

  async #post(path: string, body: object): Promise<Readonly<Record<string, unknown>>> {
    const response = await fetch(`${this.#url}/keyed/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} was answered by ${response.status}: ${text}`);
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  }
}
