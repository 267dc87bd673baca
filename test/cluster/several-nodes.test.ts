/** @module-tag long */
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createProject, main, startCommand } from "../cli/command.ts";
import type { RunningCommand } from "../cli/command.ts";
import { findFreePort, findFreeUrl } from "../machine/free-port.ts";
import { needsPostgres } from "../machine/postgres.ts";
import { canRunBlocks, findBlocks, root, runBlock } from "../docs/blocks.ts";
import { skipWithoutCurl } from "../machine/skip-without.ts";
import { askUntil, newDatabase } from "../storage/postgres/databases.ts";

needsPostgres();

const PAYMENTS = `
import { defineAgent } from "troupe";
export const payments = defineAgent({
  name: "payments",
  version: "7",
  purpose: "Pays after a question.",
  async chat(input, turn) {
    const { approved } = await turn.waitForInput({ approved: "Pay?" });
    await turn.text(approved === "yes" ? "paid " + input : "kept");
  },
});
`;

test.each([
  ["one database", 1],
  ["four databases", 4],
])(
  "on %s a payment asked on one node is answered on another one after the first is killed",
  async (_, count) => {
    const databases = await Promise.all(Array.from({ length: count }, newDatabase));
    const nodes = await startNodes(2, { TROUPE_LOG: databases.join(" ") });
    const [first, second] = nodes;
    const call = startCommand(["chat", "payments", "bob", "--url", first?.url ?? ""], nodes);
    expect(await call.exited).toBe(4);
    const [requestId = ""] = /req_[\w-]+/.exec(call.output()) ?? [];

    const listed = startCommand(["nodes", "--json"], nodes);
    expect(await listed.exited).toBe(0);
    const rows = listed
      .output()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { readonly url: string; readonly runs: number });
    const agents = { payments: { version: "7", compatible: [] } };
    expect(rows).toHaveLength(2);
    for (const { address } of nodes)
      expect(rows).toContainEqual(expect.objectContaining({ url: address, state: "active", agents }));

    // A node that joins gets a share of the idle runs, so either of the two can own this one.
    const owner =
      nodes.find(({ address }) => rows.some(({ url, runs }) => url === address && runs === 1)) ?? first;
    const other = owner === first ? second : first;
    owner?.server.kill("SIGKILL");
    await owner?.server.exited;
    const answer = startCommand(["resume", requestId, "approved=yes", "--url", other?.url ?? ""], nodes);
    expect(await answer.exited).toBe(0);
    const events = startCommand(["events", requestId, "--url", other?.url ?? "", "--json"], nodes);
    expect(await events.exited).toBe(0);
    expect(events.output().match(/"content":"paid bob"/g)).toHaveLength(1);
    expect(events.output().match(/"type":"RequestCompleted"/g)).toHaveLength(1);
  },
);

test("two nodes on one database work as the README shows", { tags: "long" }, async ({ skip }) => {
  if (!canRunBlocks) skipWithoutCurl(skip);
  const [block = ""] = findBlocks("README.md", "## Two nodes on one database", "sh");
  // As with the real npx, the server is a child of the command.
  const npx = `#!/bin/sh\nshift 2; ${process.execPath} ${main} serve --agents=${join(root, "agents")} "$@" & wait\n`;
  const cwd = await createProject({ npx });
  await chmod(join(cwd, "npx"), 0o755);
  let script = block
    .replace("postgres://localhost/agents", await newDatabase())
    .replaceAll("npx troupe", "./npx troupe");
  for (const port of ["4101", "4102", "4201", "4202"])
    script = script.replaceAll(port, String(await findFreePort()));
  const end = `kill -0 "$(cat .troupe/1/pid)" || echo the first node is dead; kill -9 "$(cat .troupe/2/pid)"`;
  const said = await runBlock(`${script}\n${end}`, "", cwd);
  expect(said).toContain("the first node is dead");
  expect(said).toContain('"request_keys":{"approved":"Pay 5 to eve?"}');
  expect(said).toContain('"output":{"receipt":"eve:5"}');
});

test(
  "a node that the others cannot have beside them is refused with a line that names the fix",
  { tags: "long" },
  async () => {
    const nodes = await startNodes(1, { TROUPE_CLUSTER_SECRET: "a secret of nodes" });
    const free = await findFreeUrl();
    await writeFile(
      join(nodes.cwd, "slow-clock.mjs"),
      "const now = Date.now; Date.now = () => now() - 120_000;",
    );
    const wrong: readonly (readonly [
      options: readonly string[],
      env: Readonly<Record<string, string>>,
      line: RegExp,
    ])[] = [
      [
        [`--cluster=${free}`],
        { TROUPE_CLUSTER_SECRET: "another secret of nodes" },
        /refuses the messages of this node: its secret differs\ngive all nodes the same secret/,
      ],
      [
        [`--cluster=${free}`],
        { TROUPE_CLUSTER_SECRET: "fifteen letters" },
        /the secret of the nodes has only 15 characters\ngive all nodes the same 16 or more random characters/,
      ],
      [[`--cluster=${nodes[0]?.address}`], {}, /cannot listen on .*\n.*choose another port/],
      [["--cluster=nowhere"], {}, /nowhere is not the address of a node\nwrite http:\/\/HOST:PORT/],
      [
        ["--cluster=https://127.0.0.1:1"],
        { TROUPE_CLUSTER_SECRET: "" },
        /is not the address of a node\nwrite http:\/\/HOST:PORT/,
      ],
      [
        ["--cluster=http://0.0.0.0:9"],
        {},
        /other nodes cannot reach this one at .*\nwrite http:\/\/HOST:PORT/,
      ],
      [["--cluster=http://127.0.0.1:0"], {}, /other nodes cannot reach this one at .*\nwrite http:/],
      [["--cluster=http://192.0.2.1:9"], {}, /cannot listen on .*: EADDRNOTAVAIL\ngive an address of this/],
      [
        [`--cluster=${free}`],
        { NODE_OPTIONS: `--import=${nodes.cwd}/slow-clock.mjs` },
        /refuses the messages of this node: its clock is 1\d\d s ahead of that of this one\nset the clocks/,
      ],
      [
        ["--cluster=http://0.0.0.0:9"],
        { TROUPE_CLUSTER_SECRET: "" },
        /need a secret.*\ngive all nodes the same secret \(TROUPE_CLUSTER_SECRET\)/,
      ],
      [[`--cluster=${free}`, "--single"], {}, /--single is for one node, --cluster for several/],
      [["--dead-after-seconds=5"], {}, /--dead-after-seconds is for nodes with --cluster\nleave it out/],
      [[], {}, /another node has the log in this database open/],
      [
        [`--cluster=${free}`],
        { TROUPE_LOG: "" },
        /--cluster needs a database that the nodes share\nuse --log/,
      ],
    ];
    for (const [options, env, line] of wrong) {
      const server = startCommand(["serve", "--port=0", ...options], {
        cwd: nodes.cwd,
        env: { ...nodes.env, TROUPE_CLUSTER_SECRET: "a secret of nodes", ...env },
      });
      expect([69, 78]).toContain(await server.exited);
      expect(server.output()).toMatch(line);
      expect(server.output()).not.toMatch(/^ +at /m);
    }
    // A node that is dead, or did not start, is of no interest to the next one.
    nodes[0]?.server.kill("SIGKILL");
    await nodes[0]?.server.exited;
    await askUntil(
      nodes.env["TROUPE_LOG"] ?? "",
      "SELECT max(beat) < now() - interval '2 s' FROM troupe.node",
    );
    const next = startCommand(["serve", "--port=0", `--cluster=${await findFreeUrl()}`], nodes);
    await next.match(/other nodes/);
    expect(next.output()).not.toContain("does not answer");
  },
);

interface Node {
  readonly server: RunningCommand;
  /** Where clients reach it. */
  readonly url: string;
  /** Where other nodes reach it. */
  readonly address: string;
}

interface Nodes extends ReadonlyArray<Node> {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Starts nodes that share a new database. */
async function startNodes(count: number, more: Readonly<Record<string, string>> = {}): Promise<Nodes> {
  const cwd = await createProject({ "agents/payments.ts": PAYMENTS });
  const env = { ...more, TROUPE_LOG: more["TROUPE_LOG"] ?? (await newDatabase()) };
  const nodes: Node[] = [];
  for (let at = 0; at < count; at += 1) {
    const address = await findFreeUrl();
    const server = startCommand(["serve", "--port=0", `--cluster=${address}`, `--data=.node-${at}`], {
      cwd,
      env,
    });
    const [url] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
    nodes.push({ server, url, address });
  }
  return Object.assign(nodes, { cwd, env });
}
