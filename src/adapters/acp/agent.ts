import * as acp from "@agentclientprotocol/sdk";
import type {
  AgentApp,
  AgentConnection,
  ClientCapabilities,
  McpServer,
  Stream,
} from "@agentclientprotocol/sdk";
import { hasCode } from "../../client/wire/problem.ts";
import { createClient } from "../../client/client.ts";
import type { Client } from "../../client/client-api.ts";
import { toAgentError } from "../../errors.ts";
import type { AgentDescriptor } from "../../protocol/answers/descriptor.ts";
import { isId } from "../../protocol/ids.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { RunSummary } from "../../protocol/answers/status.ts";
import { readEditorPrompt } from "./prompt.ts";
import type { AcpOptions } from "./acp.ts";
import { EditorSession } from "./session.ts";
import type { AgentService } from "./session.ts";
import { cwdOf, directoryOf, isSessionId, runKeyOf, newSessionId, toSessionId } from "./session-id.ts";

const { methods, RequestError } = acp;

/** Serves one agent to the editor at the other end of a stream. */
export function connectEditor(options: AcpOptions, stream: Stream): AgentConnection {
  const desk = new Desk(options);
  const connection = desk.app().connect(stream);
  connection.signal.addEventListener("abort", () => desk.close());
  return connection;
}

/** How many sessions of a connection are followed. */
const SESSIONS = 100;

/** How many sessions a page of the list has. */
const PAGE = 50;

/** The sessions of a connection. */
class Desk {
  readonly #client: Client;
  readonly #options: AcpOptions;
  readonly #sessions = new Map<string, EditorSession>();
  #capabilities: ClientCapabilities = {};
  #descriptor: Promise<AgentDescriptor> | undefined;

  constructor(options: AcpOptions) {
    const { url, token, fetch } = options;
    this.#options = options;
    this.#client = createClient(url, { ...(token !== undefined && { token }), ...(fetch && { fetch }) });
  }

  app(): AgentApp {
    const { session } = methods.agent;
    return acp
      .agent({ name: "troupe" })
      .onRequest(methods.agent.initialize, async ({ params }) => {
        this.#capabilities = params.clientCapabilities ?? {};
        return refusing(() => this.#introduce());
      })
      .onRequest(session.new, async ({ params: { cwd, mcpServers }, client }) =>
        refusing(async () => {
          checkDirectory(cwd);
          const id = await newSessionId(cwd);
          const opened = await this.#open(client, { id, cwd, runId: undefined, mcpServers });
          afterReply(() => opened.showCommands());
          return { sessionId: id, ...modesOf(opened) };
        }),
      )
      .onRequest(session.load, async ({ params: { sessionId, cwd, mcpServers }, client }) =>
        refusing(async () => {
          checkDirectory(cwd);
          const opened = await this.#reopen(client, { id: sessionId, cwd, mcpServers }, true);
          return modesOf(opened);
        }),
      )
      .onRequest(session.resume, async ({ params: { sessionId, cwd, mcpServers = [] }, client }) =>
        refusing(async () => {
          checkDirectory(cwd);
          return modesOf(await this.#reopen(client, { id: sessionId, cwd, mcpServers }, false));
        }),
      )
      .onRequest(session.list, async ({ params }) => refusing(() => this.#list(params.cwd, params.cursor)))
      .onRequest(session.setMode, async ({ params: { sessionId, modeId }, client }) =>
        refusing(async () => {
          (await this.#sessionOf(sessionId, client)).setMode(modeId);
          return {};
        }),
      )
      .onRequest(session.prompt, async ({ params: { sessionId, prompt }, client, signal }) =>
        refusing(async () => {
          const opened = await this.#sessionOf(sessionId, client);
          const cancel = (): void => {
            // The signal also tells that the editor has left, which cancels nothing.
            const reason: unknown = signal.reason;
            if (reason instanceof RequestError && reason.code === CANCELED) void quietly(opened.cancel());
          };
          signal.addEventListener("abort", cancel);
          try {
            return { stopReason: await opened.prompt(readEditorPrompt(prompt)) };
          } finally {
            signal.removeEventListener("abort", cancel);
          }
        }),
      )
      .onNotification(session.cancel, async ({ params: { sessionId } }) => {
        await quietly(this.#sessions.get(sessionId)?.cancel());
      });
  }

  close(): void {
    for (const session of this.#sessions.values()) session.close();
    this.#sessions.clear();
  }

  async #introduce() {
    const { name, version = "" } = await this.#describe();
    return {
      protocolVersion: acp.PROTOCOL_VERSION,
      agentInfo: { name: `troupe-${name}`, title: name, version: version === "" ? "1" : version },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, audio: true, embeddedContext: true },
        mcpCapabilities: { http: true, sse: true },
        sessionCapabilities: { list: {}, resume: {} },
      },
      authMethods: [],
    };
  }

  #describe(): Promise<AgentDescriptor> {
    this.#descriptor ??= this.#client.agent(this.#options.agent).describe();
    this.#descriptor.catch(() => {
      this.#descriptor = undefined;
    });
    return this.#descriptor;
  }

  async #open(context: acp.AgentContext, place: Place): Promise<EditorSession> {
    const { id, cwd, runId, mcpServers } = place;
    const descriptor = await this.#describe();
    const service: AgentService = {
      client: this.#client,
      agent: this.#client.agent(descriptor.name),
      descriptor,
      editor: { context, capabilities: this.#capabilities },
    };
    const given = this.#options.mcpServers === true ? mcpServers : [];
    const session = new EditorSession(service, { id, cwd, runId, mcpServers: given });
    this.#sessions.get(id)?.close();
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    for (const [known, other] of this.#sessions) {
      if (this.#sessions.size <= SESSIONS) break;
      if (!other.isIdle || other === session) continue;
      other.close();
      this.#sessions.delete(known);
    }
    return session;
  }

  /** Opens a session that exists, with what has happened in it or without. */
  async #reopen(
    context: acp.AgentContext,
    { id, cwd, mcpServers }: Omit<Place, "runId">,
    isShown: boolean,
  ): Promise<EditorSession> {
    const runId = await this.#findRun(id);
    if (runId === undefined && !isSessionId(id)) throw RequestError.sessionNotFound(id);
    const session = await this.#open(context, { id, cwd, runId, mcpServers });
    await session.replay(isShown);
    afterReply(async () => {
      await session.showCommands();
      session.resume();
    });
    return session;
  }

  /** The session of a request; one that this process does not know yet is opened without being shown. */
  async #sessionOf(id: string, context: acp.AgentContext): Promise<EditorSession> {
    const known = this.#sessions.get(id);
    if (known !== undefined) return known;
    return this.#reopen(context, { id, cwd: cwdOf(id) ?? this.#options.cwd, mcpServers: [] }, false);
  }

  async #findRun(id: string): Promise<RunId | undefined> {
    const { name } = await this.#describe();
    if (isSessionId(id)) {
      const { runs } = await this.#client.runs({ agent: name, key: runKeyOf(id) });
      return runs[0]?.run_id;
    }
    if (!isId(id)) return undefined;
    try {
      for await (const { agent } of this.#client.run(id).events({ soFar: true }))
        return agent === name ? id : undefined;
      return undefined;
    } catch (thrown) {
      if (hasCode(thrown, "not_found", "gone")) return undefined;
      throw thrown;
    }
  }

  async #list(cwd: string | null | undefined, cursor: string | null | undefined) {
    const { name } = await this.#describe();
    const directory = typeof cwd === "string" ? await directoryOf(cwd) : undefined;
    const query = { agent: name, limit: PAGE, ...(typeof cursor === "string" && { cursor }) };
    const { runs, next } = await this.#client.runs(query);
    const sessions = runs
      .map((run) => ({ run, id: toSessionId(run) }))
      .filter(({ id }) => directory === undefined || id.startsWith(`${directory}.`))
      .map(({ run, id }) => ({
        sessionId: id,
        cwd: cwd ?? cwdOf(id) ?? this.#options.cwd,
        title: titleOf(run),
        updatedAt: run.updated_at,
      }));
    return { sessions, ...(next !== undefined && { nextCursor: next }) };
  }
}

interface Place {
  readonly id: string;
  readonly cwd: string;
  readonly runId: RunId | undefined;
  readonly mcpServers: readonly McpServer[];
}

const CANCELED = -32_800;

const TITLE_LENGTH = 80;

function titleOf({ initial_input: input }: RunSummary): string {
  const text = typeof input === "string" ? input : JSON.stringify(input ?? "");
  return text.split("\n", 1).join("").slice(0, TITLE_LENGTH);
}

function modesOf({ modes }: EditorSession): { readonly modes?: acp.SessionModeState } {
  return modes === undefined ? {} : { modes };
}

function checkDirectory(cwd: string): void {
  if (!/^(?:\/|[a-z]:[\\/]|\\\\)/i.test(cwd))
    throw RequestError.invalidParams({ cwd }, "cwd must be absolute");
}

/** Runs something when the answer to the request of now is written. */
function afterReply(run: () => Promise<void>): void {
  setTimeout(() => void quietly(run()), 0);
}

/** Ignores a failure: the editor has left, or gets the error with its next request. */
async function quietly(done: Promise<void> | undefined): Promise<void> {
  await done?.catch(() => {});
}

/** Runs a handler; an error becomes one of the wire. */
async function refusing<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (thrown) {
    if (thrown instanceof RequestError) throw thrown;
    const { code, message, details } = toAgentError(thrown);
    const { hint, issues } = details;
    const data = { code, ...(hint !== undefined && { hint }), ...(issues && { issues }) };
    const number = CODES.get(code) ?? -32_603;
    throw new RequestError(number, hint === undefined ? message : `${message}; ${hint}`, data);
  }
}

const CODES: ReadonlyMap<string, number> = new Map([
  ["unauthorized", -32_000],
  ["not_found", -32_002],
  ["gone", -32_002],
  ["invalid_request", -32_602],
  ["unprocessable", -32_602],
  ["conflict", -32_602],
]);
