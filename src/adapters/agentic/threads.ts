import type { Context } from "hono";
import { AgentError, toAgentError } from "../../errors.ts";
import type { AppEnv } from "../../http/messages/app-env.ts";
import { nextPage, parseCount, queryOf, read } from "../../http/messages/event-query.ts";
import { reply } from "../../http/messages/reply.ts";
import { isId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { Runtime } from "../../runtime/api.ts";
import type { RunDetails } from "../../runtime/lists.ts";
import { DialectWriter, readAgentCalls } from "./dialect.ts";
import type { ShownEvent } from "./dialect.ts";
import type { AgenticService } from "./service.ts";

/** The run of a thread; `not_found` if the agent has none with the id. */
export async function findThread(runtime: Runtime, agent: string, threadId: string): Promise<RunDetails> {
  const unknown = new AgentError("not_found", `agent ${agent} has no thread ${threadId.slice(0, 128)}`);
  if (!isId(threadId)) throw unknown;
  try {
    const run = await runtime.run(threadId);
    if (run.agent === agent) return run;
  } catch (thrown) {
    if (toAgentError(thrown).code !== "not_found") throw thrown;
  }
  throw unknown;
}

/** Lists the threads of an agent, the newest changed first. */
export async function listThreads(c: Context<AppEnv>, { host, agent }: AgenticService): Promise<Response> {
  const query = queryOf(c);
  const offset = read(query, "offset", parseCount) ?? 0;
  const { runs } = await host.runtime.runs({ agent, limit: PAGE + 1, offset });
  const next =
    runs.length > PAGE ? nextPage(host.mount.pathOf(c), query, "offset", offset + PAGE) : undefined;
  const headers = next === undefined ? {} : { headers: { link: next } };
  return reply(c, JSON.stringify(runs.slice(0, PAGE).map(toThread)), headers);
}

/** Lists the events of a thread. */
export async function threadLogs(c: Context<AppEnv>, { host, agent }: AgenticService): Promise<Response> {
  const { runtime, mount } = host;
  const query = queryOf(c);
  const { run_id: runId } = await findThread(runtime, agent, c.req.param("thread_id") ?? "");
  const after = read(query, "since", parseCount) ?? 0;
  const address = { kind: "run", runId, agent } as const;
  const page = await runtime.read(address, { after, limit: PAGE, filter: { level: "all" } });
  const dialect = new DialectWriter(agent, await readAgentCalls(runtime, address, after));
  const shown = page.events.flatMap((text) => dialect.take(text));
  const logs = [...shown, ...dialect.end()].map(toLog);
  const headers = page.more
    ? { headers: { link: nextPage(mount.pathOf(c), query, "since", page.cursor) } }
    : {};
  return reply(c, JSON.stringify(logs), headers);
}

/** The number of threads or events on one page; the Link header names the next one. */
const PAGE = 1_000;

function toThread({ run_id: id, agent, created_at, updated_at, initial_input: input }: RunDetails): Json {
  return {
    id,
    agent_id: agent,
    user_id: USER,
    created_at: toNaive(created_at),
    updated_at: toNaive(updated_at),
    initial_prompt: typeof input === "string" ? input : input === null ? "" : JSON.stringify(input),
    description: null,
    thread_metadata: {},
  };
}

function toLog({ event: { id, run_id: runId, role, ts }, shown }: ShownEvent): Json {
  return {
    id: `${runId}:${id}`,
    thread_id: runId,
    agent_id: shown.agent,
    user_id: USER,
    role: FROM_USER.has(shown.type) ? "user" : role,
    created_at: toNaive(ts),
    event_name: shown.type,
    event: { ...shown } as unknown as Json,
    depth: shown.depth,
    version: 1,
  };
}

const FROM_USER: ReadonlySet<string> = new Set(["prompt_started", "resume_with_input"]);

/** The server has no users. */
const USER = "default";

/** Their times are UTC without a zone. */
function toNaive(iso: string): string {
  return iso.replace(/Z$/, "");
}
