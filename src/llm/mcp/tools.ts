import type { AuthProvider, Client, Progress, Tool as McpTool } from "@modelcontextprotocol/client";
import type { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv";
import * as z from "zod";
import { AgentError } from "../../errors.ts";
import type { QueueOptions } from "../../ports/model.ts";
import type { ReadinessPart } from "../../ports/readiness.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { Effect, Operations, Schema, Tool, ToolHost, ToolSource } from "../../runtime/agent/agent.ts";
import type { CallOptions } from "../../runtime/agent/call-options.ts";
import { markAgent } from "../../runtime/agent/definition/check-definition.ts";
import { defineTool } from "../../runtime/agent/definition/define.ts";
import type { ToolTurn, Turn } from "../../runtime/agent/turn-api.ts";
import type { ResultWithFiles } from "../../runtime/actor/answer.ts";
import { rawSchema } from "../prompt/raw-schema.ts";
import { toToolName } from "../prompt/tool-name.ts";
import { McpConnection } from "./connection.ts";
import { toResult } from "./content.ts";
import { SignIns } from "./sign-in.ts";
import { isOfTurn, toTarget } from "./server.ts";
import type { McpServer, McpTarget } from "./server.ts";
import { isLost } from "./transport.ts";

/** The tools of an MCP server: all of them for `llmAgent`, or one by one for handlers. */
export interface McpTools extends ToolSource {
  /** Closes the connection for ever, and ends a program that was started for it. A runtime closes it too, when it closes. */
  close(): Promise<void>;
}

/** Which MCP server is used, and how its tools are called. */
export interface McpToolsOptions extends CallOptions, QueueOptions {
  /** The name of the server for messages. Default: its own name for itself, once it has said it. */
  readonly name?: string;
  /** A call fails after this time without a message from the server, in milliseconds. Default 60,000. */
  readonly silenceMs?: number;
  /**
   * The server may take this time until it has introduced itself, and to list its tools, in milliseconds. Default 10,000; a
   * program that is installed by `npx` first may need more.
   */
  readonly connectMs?: number;
}

/**
 * The tools of an MCP server. The runtime connects to it when it starts, and does not wait for that: while the server is away
 * its tools are missing or fail with the reason, `/readyz` is degraded, and it is tried again until it comes. When the server
 * ends, running calls fail, and the next call connects again. Needs the package `@modelcontextprotocol/client`, version 2.
 */
export function mcpTools(server: McpServer, options: McpToolsOptions = {}): McpTools {
  return new ServerTools(server, options);
}

/** Connections with different credentials that are open at once; above that the one used least recently is closed. */
const CONNECTIONS_LIMIT = 32;

class ServerTools implements McpTools {
  readonly #server: McpServer;
  readonly #options: McpToolsOptions;
  /** By the credentials; one of a server that does not depend on the turn. The last one was used last. */
  readonly #connections = new Map<string, McpConnection>();
  /** What is known of the tools, by their names for models. */
  readonly #known = new Map<string, KnownTool>();
  readonly #tools = new Map<string, Tool>();
  #hosts: readonly ToolHost[] = [];
  /** Present if a person must sign in. */
  readonly #signIns: SignIns | undefined;
  #validator: Promise<AjvJsonSchemaValidator> | undefined;

  constructor(server: McpServer, options: McpToolsOptions) {
    this.#server = server;
    this.#options = options;
    if ("url" in server && server.oauth) this.#signIns = new SignIns(server.url, server.oauth);
  }

  get tools(): readonly Tool[] {
    return this.#toolsOf([...this.#connections.values()]);
  }

  tool(name: string): Tool {
    const key = toToolName(name);
    const signIns = key === this.#signInName ? this.#signIns : undefined;
    const tool = this.#tools.get(key) ?? (signIns ? this.#newSignIn(signIns) : this.#newTool(key, name));
    this.#tools.set(key, tool);
    return tool;
  }

  async toolsFor(turn: Turn): Promise<readonly Tool[]> {
    if (await this.#mustSignIn(turn)) return [this.tool(this.#signInName)];
    const connection = this.#connectionFor(turn);
    await connection.ready();
    // The server has taken the tokens back.
    if (this.#signIns && connection.isRefused) return [this.tool(this.#signInName)];
    return this.#toolsOf([connection]);
  }

  async #mustSignIn(turn: Turn): Promise<boolean> {
    const [host] = this.#hosts;
    if (this.#signIns === undefined || host === undefined) return false;
    return !(await this.#signIns.has(host, this.#ownerOf(turn)));
  }

  #ownerOf(turn: Turn): string {
    const target = toTarget(this.#server, turn);
    return "url" in target ? (target.owner ?? "") : "";
  }

  /** The name of the server for events. Connections with different credentials lead to the same server. */
  get #serverName(): string {
    const names = [...this.#connections.values()].map(({ name }) => name);
    return this.#options.name ?? names.findLast((name) => name !== "") ?? "mcp";
  }

  get #signInName(): string {
    const { name = "" } = this.#options;
    return toToolName(`sign_in ${name}`.trim());
  }

  open(host: ToolHost): () => Promise<void> {
    this.#hosts = [...this.#hosts, host];
    if (!isOfTurn(this.#server) && this.#hosts.length === 1)
      this.#connection(toTarget(this.#server)).keep(host);
    return async () => {
      this.#hosts = this.#hosts.filter((other) => other !== host);
      if (this.#hosts.length === 0) await this.#each((connection) => connection.release());
    };
  }

  readonly readiness = (): ReadinessPart => {
    const newest = [...this.#connections.values()].at(-1);
    newest?.look();
    // Of credentials that differ from turn to turn, the refusal of one is no fault of the server.
    const detail = newest?.isRefused === true && isOfTurn(this.#server) ? undefined : newest?.away;
    return detail === undefined
      ? { name: "mcp", state: "ready" }
      : { name: "mcp", state: "degraded", detail };
  };

  async close(): Promise<void> {
    // A call later on finds a connection that is closed.
    if (!isOfTurn(this.#server)) this.#connection(toTarget(this.#server));
    await this.#each((connection) => connection.close());
  }

  async #each(end: (connection: McpConnection) => Promise<void>): Promise<void> {
    await Promise.all([...this.#connections.values()].map(end));
  }

  #connectionFor(turn: Turn): McpConnection {
    return this.#connection(toTarget(this.#server, turn));
  }

  #connection(target: McpTarget): McpConnection {
    const key = JSON.stringify(target);
    const { name = "", connectMs = 10_000 } = this.#options;
    const listed = (tools: readonly McpTool[]): void => this.#learn(tools);
    const connection =
      this.#connections.get(key) ??
      new McpConnection({ target, name, connectMs, auth: this.#authFor(target), listed });
    this.#connections.delete(key);
    this.#connections.set(key, connection);
    if (this.#connections.size > CONNECTIONS_LIMIT) this.#closeOldest();
    return connection;
  }

  #authFor(target: McpTarget): AuthProvider | undefined {
    const [host] = this.#hosts;
    if (host === undefined || !("url" in target) || target.owner === undefined) return undefined;
    return this.#signIns?.toAuthProvider(host, target.owner);
  }

  #closeOldest(): void {
    const oldest = [...this.#connections].find(([, { calls }]) => calls === 0);
    if (oldest === undefined) return;
    const [key, connection] = oldest;
    this.#connections.delete(key);
    connection.release().catch(() => {});
  }

  /** The tools of connections, each name once. */
  #toolsOf(connections: readonly McpConnection[]): readonly Tool[] {
    const listed = connections.flatMap(({ tools }) => tools);
    return [...new Set(listed.map(({ name }) => this.tool(name)))];
  }

  #learn(tools: readonly McpTool[]): void {
    for (const tool of tools) {
      const name = toToolName(tool.name);
      const json = JSON.stringify(tool);
      if (this.#known.get(name)?.json !== json) this.#known.set(name, this.#toKnown(name, tool, json));
    }
  }

  #toKnown(name: string, tool: McpTool, json: string): KnownTool {
    const { description = "", annotations = {} } = tool;
    const isHarmless = annotations.readOnlyHint === true || annotations.idempotentHint === true;
    const run = (input: unknown, turn: Turn): Promise<ResultWithFiles> =>
      this.#call(name, input, turn as ToolTurn);
    return {
      json,
      mcpName: tool.name,
      description,
      effect: isHarmless ? "idempotent" : "unsafe",
      operations: { [name]: { description, input: this.#toSchema(tool), run } },
    };
  }

  #toSchema({ inputSchema }: McpTool): Schema<Json> {
    const jsonSchema = inputSchema as JsonObject;
    let validate: ReturnType<AjvJsonSchemaValidator["getValidator"]> | undefined;
    return rawSchema(jsonSchema, async (value) => {
      // Compiled on first use: a server can have a hundred tools.
      validate ??= (await (this.#validator ??= loadValidator())).getValidator(jsonSchema);
      return validate(value).errorMessage;
    });
  }

  /** A tool that follows what is known of it. */
  #newTool(key: string, name: string): Tool {
    const { name: _, silenceMs: _1, connectMs: _2, ...options } = this.#options;
    const unknown = defineTool({
      ...options,
      name: key,
      description: "",
      input: rawSchema({ type: "object" }),
      run: (input, turn) => this.#call(name, input, turn),
    });
    const known = (): KnownTool | undefined => this.#known.get(key);
    const serverName = (): string => this.#serverName;
    return markAgent({
      ...unknown,
      sources: [this],
      get server() {
        return serverName();
      },
      get purpose() {
        return known()?.description ?? unknown.purpose;
      },
      get effect() {
        return known()?.effect ?? unknown.effect;
      },
      get operations() {
        return known()?.operations ?? unknown.operations;
      },
    });
  }

  /** The tool with which a person signs in: a question with the address to open, whose answer ends the sign-in. */
  #newSignIn(signIns: SignIns): Tool {
    const { name = "the MCP server" } = this.#options;
    return markAgent({
      ...defineTool({
        name: this.#signInName,
        description: `Asks the user to sign in to ${name}. Its tools are available afterwards.`,
        input: rawSchema({ type: "object" }),
        effect: "idempotent",
        run: (_input, turn) => this.#signIn(signIns, name, turn),
      }),
      sources: [this],
    });
  }

  async #signIn(signIns: SignIns, name: string, turn: ToolTurn): Promise<string> {
    const [host] = this.#hosts;
    if (host === undefined) throw new Error(`list the tools of ${name} in an agent that is served`);
    const owner = this.#ownerOf(turn);
    const again = { effect: "idempotent" } as const;
    let why = "";
    for (let attempt = 1; attempt <= SIGN_IN_ATTEMPTS; attempt += 1) {
      const begin = async (): Promise<string> => {
        const connection = this.#connectionFor(turn);
        // Tokens that were renewed and are refused all the same are worth nothing.
        if (connection.isRefused) await connection.check();
        if (connection.isRefused) await signIns.drop(host, owner);
        return (await signIns.begin(host, owner)) ?? "";
      };
      const url = await turn.effect("begin", begin, again);
      if (url === "") return this.#signedIn(turn, name);
      const next = signIns.endsAtPage ? "" : " Then give the address to which your browser was led.";
      const question = `${why}Open ${url} and agree.${next}`;
      const { address } = await turn.waitForInput(z.object({ address: z.string().describe(question) }));
      const end = async (): Promise<string> => (await signIns.end(host, owner, address)) ?? "";
      why = await turn.effect("end", end, again);
      if (why === "") return this.#signedIn(turn, name);
      why = `${why} `;
    }
    throw new Error(`the sign-in to ${name} failed: ${why.trim()}`);
  }

  /** Has the next call connect with the new tokens. */
  async #signedIn(turn: Turn, name: string): Promise<string> {
    await this.#connectionFor(turn).release();
    this.#connections.delete(JSON.stringify(toTarget(this.#server, turn)));
    return `signed in to ${name}`;
  }

  async #call(name: string, input: unknown, turn: ToolTurn): Promise<ResultWithFiles> {
    const connection = this.#connectionFor(turn);
    const { silenceMs = 60_000 } = this.#options;
    if (await this.#mustSignIn(turn)) throw new Error(`sign in first, with the tool ${this.#signInName}`);
    if (!this.#known.has(toToolName(name))) await connection.ready();
    const mcpName = this.#known.get(toToolName(name))?.mcpName ?? name;
    try {
      return await connection.ask((client) => call(client, { name: mcpName, input, silenceMs }, turn));
    } catch (thrown) {
      if (isLost(thrown))
        throw new Error(`the MCP server ended during a call of ${mcpName}`, { cause: thrown });
      if (this.#signIns && connection.isRefused)
        throw new Error(`sign in again, with the tool ${this.#signInName}`, { cause: thrown });
      // What has kept the connection from the server is no fault of the call.
      if (thrown instanceof TypeError && connection.away !== undefined)
        throw new AgentError("unavailable", connection.away, { cause: thrown });
      throw thrown;
    }
  }
}

/** How often a person may try to sign in, in one call. */
const SIGN_IN_ATTEMPTS = 3;

/** What a server has said of a tool. */
interface KnownTool {
  /** All of it, to find out whether it has changed. */
  readonly json: string;
  /** The server's name for it. */
  readonly mcpName: string;
  readonly description: string;
  readonly effect: Effect;
  readonly operations: Operations;
}

async function loadValidator(): Promise<AjvJsonSchemaValidator> {
  const { AjvJsonSchemaValidator: Validator } = await import("@modelcontextprotocol/client/validators/ajv");
  return new Validator();
}

interface McpCall {
  readonly name: string;
  readonly input: unknown;
  readonly silenceMs: number;
}

async function call(
  client: Client,
  { name, input, silenceMs }: McpCall,
  turn: ToolTurn,
): Promise<ResultWithFiles> {
  const result = await client.callTool(
    { name, arguments: input as JsonObject, _meta: turn.traceHeaders() },
    {
      signal: turn.signal,
      timeout: silenceMs,
      resetTimeoutOnProgress: true,
      onprogress: (progress) => turn.progress(toLine(progress)),
    },
  );
  return toResult(name, result);
}

function toLine({ progress, total, message }: Progress): string {
  return message ?? (total === undefined ? String(progress) : `${progress} of ${total}`);
}
