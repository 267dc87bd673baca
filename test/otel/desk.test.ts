/** @module-tag long */
import { cp, symlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { createProject, startCommand } from "../cli/command.ts";
import type { RunningCommand } from "../cli/command.ts";
import { findFreePort, findFreeUrl } from "../machine/free-port.ts";
import { needsPostgres } from "../machine/postgres.ts";
import { newDatabase } from "../storage/postgres/databases.ts";
import { bytesOf, expectConventions, startCollector, treeOf } from "./collector.ts";

needsPostgres();

const root = resolve(import.meta.dirname, "../..");

/** The agent that customers speak to; the desk is on another server. */
const RECEPTION = `
import { defineAgent } from "troupe";
import { remoteAgent } from "troupe/client";
const desk = remoteAgent(process.env.SHOP + "/desk");
export const reception = defineAgent({
  name: "reception",
  purpose: "Passes customers on to the desk.",
  uses: { desk },
  chat: async (input, turn) => JSON.stringify(await turn.call(desk, "chat", { input })),
});
`;

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const CALLER = "b7ad6b7169203331";

test("a refund over two servers, three agents, MCP, an approval, two kills and a change of node is one trace", async () => {
  const collector = await startCollector();
  const shopPort = await findFreePort();
  const shop = await createProject({});
  for (const folder of ["agents", "servers"])
    await cp(join(root, "examples/support-desk", folder), join(shop, folder), { recursive: true });
  for (const name of ["zod", "xstate", "@modelcontextprotocol"])
    await symlink(join(root, "node_modules", name), join(shop, "node_modules", name));
  const startShop = () =>
    startServer([`--port=${shopPort}`], {
      cwd: shop,
      env: {
        DESK_BANK: join(shop, "bank.jsonl"),
        TROUPE_OTLP: collector.url,
        OTEL_SERVICE_NAME: "shop",
      },
    });
  let desk = await startShop();

  const cwd = await createProject({ "agents/reception.ts": RECEPTION });
  const env = {
    SHOP: desk.url,
    TROUPE_LOG: await newDatabase(),
    TROUPE_OTLP: collector.url,
    OTEL_SERVICE_NAME: "front",
  };
  const startNode = async (name: string) => {
    const address = await findFreeUrl();
    return startServer(["--port=0", `--cluster=${address}`, `--data=.${name}`], { cwd, env });
  };
  const first = await startNode("first");
  const asked = await send(`${first.url}/reception/process?wait=completed`, {
    type: "ChatRequest",
    input: "jim: refund A1",
  });
  expect(asked).toMatchObject({ type: "WaitForInput", agent: "approval" });

  // Its node dies, and so does the server of the desk; another node and a new process go on.
  const second = await startNode("second");
  first.command.kill("SIGKILL");
  desk.command.kill("SIGKILL");
  await Promise.all([first.command.exited, desk.command.exited]);
  desk = await startShop();
  const ended = await send(`${second.url}/reception/process?wait=completed`, {
    type: "ResumeWithInput",
    request_id: asked["request_id"],
    request_keys: { approved: true },
  });
  expect(ended).toMatchObject({ type: "RequestCompleted", finish_reason: "success" });

  // The exports of the two servers went on, too, each at its own time.
  await expect.poll(() => treeOf(collector.spans())).toEqual(TREE);
  const live = collector.spans();
  expect(new Set(live.map((span) => span.trace_id.toString("hex")))).toEqual(new Set([TRACE_ID]));
  for (const span of live) expectConventions(span);

  // What is exported from the log later has the same bytes, each time.
  const later = [await startCollector(), await startCollector()];
  for (const { url } of later)
    for (const [server, service] of [
      [second.url, "front"],
      [desk.url, "shop"],
    ] as const) {
      const options = ["--since=2020-01-01", `--otlp=${url}`, `--url=${server}`];
      const exporting = startCommand(["traces", "export", ...options], {
        cwd,
        env: { OTEL_SERVICE_NAME: service },
      });
      expect(await exporting.exited).toBe(0);
    }
  expect(later[1]?.bodies).toEqual(later[0]?.bodies);
  expect(bytesOf(later[0]?.spans() ?? [])).toEqual(bytesOf(live));
});

/** All spans, each below its parent. */
const TREE = `
ask customer.note < execute_tool remember
ask customer.notes < execute_tool recall
ask ledger.add < execute_tool pay
chat scripted < invoke_agent desk
chat scripted < invoke_agent desk
chat scripted < invoke_agent desk
chat scripted < invoke_agent desk
execute_tool get_order < invoke_agent desk
execute_tool pay < invoke_workflow refund
execute_tool recall < invoke_agent desk
execute_tool remember < invoke_agent desk
execute_tool search_articles < invoke_agent desk
invoke_agent approval < invoke_workflow refund
invoke_agent customer < ask customer.note
invoke_agent customer < ask customer.notes
invoke_agent desk < invoke_agent desk
invoke_agent desk < invoke_agent reception
invoke_agent ledger < ask ledger.add
invoke_agent reception < ${CALLER}
invoke_workflow refund < invoke_agent desk
wait pay < invoke_agent approval`
  .trim()
  .split("\n");

interface Server {
  readonly command: RunningCommand;
  readonly url: string;
}

async function startServer(
  args: readonly string[],
  options: Parameters<typeof startCommand>[1],
): Promise<Server> {
  const command = startCommand(["serve", ...args], options);
  const [url] = await command.match(/http:\/\/127\.0\.0\.1:\d+/);
  return { command, url };
}

async function send(url: string, body: object): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", traceparent: `00-${TRACE_ID}-${CALLER}-01` },
    body: JSON.stringify(body),
  });
  return (await response.json()) as Readonly<Record<string, unknown>>;
}
