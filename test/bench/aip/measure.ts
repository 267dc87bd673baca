import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { Client } from "../../adapters/aip/peers/client.ts";
import { startNode } from "../../adapters/aip/peers/node.ts";
import { toTable } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import type { Setup } from "../harness/setup.ts";

/** Calls at the same time. */
const CONCURRENCY = 32;

/** The CPU time of a gateway per call: with its own agents, and with a node that it routes to. */
export async function measureAip({ rounds, roundMs }: Setup): Promise<Result[]> {
  const server = fork(join(import.meta.dirname, "server.ts"));
  const { address } = (await reportOf(server)) as { readonly address: string };
  await using node = await startNode();
  using client = new Client(address);
  await client.call("RegisterAgent", "AgentInfo", "RegisterAgentResponse", node.agent("far"));
  await using second = await startNode();
  await client.call("RegisterTool", "ToolBoxInfo", "RegisterToolResponse", second.toolbox("tools"));
  const tool = { tool_name: "bench.add", arguments: '{"a":2,"b":3}' };
  const calls: readonly (readonly [string, () => Promise<unknown>])[] = [
    ["session of two quests, own agent", () => session(client, "bench")],
    ["session of two quests, routed", () => session(client, "far")],
    ["tool call, own operation", () => client.tool(tool)],
    ["tool call, routed", () => client.tool({ ...tool, receiver_id: "tools", tool_name: "add" })],
  ];
  const rows: string[][] = [];
  for (const [label, call] of calls) {
    await load(call, roundMs);
    const costs: number[] = [];
    const rates: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const before = await cpuMsOf(server);
      const startedAt = performance.now();
      const count = await load(call, roundMs);
      costs.push(((await cpuMsOf(server)) - before) / count);
      rates.push((count / (performance.now() - startedAt)) * 1_000);
    }
    rows.push([label, `${(median(costs) * 1_000).toFixed(0)} µs`, median(rates).toFixed(0)]);
  }
  server.disconnect();
  console.log(
    `\nAIP, ${CONCURRENCY} at a time, memory log\n\n${toTable([["call", "CPU of the gateway", "calls/s"], ...rows])}`,
  );
  return [];
}

async function session(client: Client, receiver: string): Promise<void> {
  const one = client.session({ receiver_id: receiver });
  one.start("hello");
  await one.next();
  one.hold("again");
  await one.next();
  one.stop("bye");
  const { code } = await one.status;
  if (code !== 0) throw new Error(`a session ended with status ${code}`);
}

/** Repeats calls for a time and returns their number. */
async function load(call: () => Promise<unknown>, ms: number): Promise<number> {
  const end = performance.now() + ms;
  let count = 0;
  const repeat = async (): Promise<void> => {
    while (performance.now() < end) {
      await call();
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, repeat));
  return count;
}

async function cpuMsOf(server: ChildProcess): Promise<number> {
  server.send("usage");
  return ((await reportOf(server)) as { readonly cpuMs: number }).cpuMs;
}

async function reportOf(server: ChildProcess): Promise<unknown> {
  const [report] = (await once(server, "message")) as [unknown];
  return report;
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}
