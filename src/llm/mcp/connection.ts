import type * as mcp from "@modelcontextprotocol/client";
import { AgentError } from "../../errors.ts";
import type { ToolHost } from "../../runtime/agent/agent.ts";
import { backoffMs } from "../../shared/backoff.ts";
import { SingleFlight } from "../../shared/single-flight.ts";
import type { McpTarget } from "./server.ts";
import { isLost, loadPackage, toTransport } from "./transport.ts";

/** How a connection is made, and who hears of it. */
export interface McpConnectionOptions {
  readonly target: McpTarget;
  /** The operator's name for the server; empty if there is none. */
  readonly name: string;
  /** How long the server may take until it has introduced itself, and to list its tools. */
  readonly connectMs: number;
  /** Gives the tokens of the person who has signed in. */
  readonly auth?: mcp.AuthProvider | undefined;
  /** Called with the tools of the server whenever it has listed them. */
  listed(tools: readonly mcp.Tool[]): void;
}

/**
 * A connection to an MCP server, opened when needed and reopened after a failure. While a runtime keeps it, a server that is
 * away is tried again by itself.
 */
export class McpConnection {
  readonly #options: McpConnectionOptions;
  #client: Promise<mcp.Client> | undefined;
  /** Ends the attempt to connect, or the connection. */
  #abort = new AbortController();
  /** The programs that are ending. */
  readonly #ending = new Set<Promise<unknown>>();
  /** The number of running calls per client. */
  readonly #asking = new Map<mcp.Client, number>();
  #closed = false;
  /** The server's name for messages: that of the operator, otherwise its own. */
  #name: string;
  /** The tools, once the server has listed them. */
  #tools: readonly mcp.Tool[] | undefined;
  /** Why the server is away, since it did not answer when it was asked last, or its program has ended since. */
  #away: string | undefined;
  /** When that was found out. */
  #knownAt = -Infinity;
  /** The failed attempts in a row. */
  #failures = 0;
  #host: ToolHost | undefined;
  /** Stops the timer of the next attempt. */
  #stopTimer: (() => void) | undefined;
  readonly #looking = new SingleFlight(() => this.#look());

  constructor(options: McpConnectionOptions) {
    this.#options = options;
    this.#name = options.name;
  }

  /** The server's name: that of the operator, otherwise its own; empty before it has said it. */
  get name(): string {
    return this.#name;
  }

  /** The tools of the server, as it has listed them last. */
  get tools(): readonly mcp.Tool[] {
    return this.#tools ?? [];
  }

  /** Why the server is away, for example `the MCP server weather does not answer`; `undefined` as far as it is there. */
  get away(): string | undefined {
    return this.#away === undefined ? undefined : `${this.#subject} ${this.#away}`;
  }

  /** Whether it is away because it does not accept the credentials. */
  get isRefused(): boolean {
    return this.#away === REFUSES;
  }

  /** How many calls run. */
  get calls(): number {
    return [...this.#asking.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Resolves when the tools are known, or the server is away. Never rejects. */
  async ready(): Promise<void> {
    if (this.#tools === undefined && (this.#away === undefined || this.#looking.running !== undefined))
      await this.#looking.run();
  }

  /** Connects now, and again by itself while the server is away, until it is released. */
  keep(host: ToolHost): void {
    this.#host = host;
    void this.#looking.run();
  }

  /** Closes the connection and ends the program; a call opens it again. */
  async release(): Promise<void> {
    this.#host = undefined;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#abort.abort();
    this.#abort = new AbortController();
    const client = await this.#client?.catch(() => undefined);
    await client?.close();
    await Promise.all(this.#ending);
  }

  /** Closes the connection for ever. */
  close(): Promise<void> {
    this.#closed = true;
    return this.release();
  }

  /**
   * Makes a call. A server on the network that was restarted does not know the session; it has done nothing
   * then, so the call is repeated once on a new connection.
   */
  async ask<Answer>(question: (client: mcp.Client) => Promise<Answer>): Promise<Answer> {
    for (let again = false; ; again = true) {
      const connecting = this.#connected();
      const client = await connecting;
      this.#asking.set(client, (this.#asking.get(client) ?? 0) + 1);
      try {
        const answer = await question(client);
        this.#isThere();
        return answer;
      } catch (thrown) {
        const reason = toReason(thrown);
        if (reason !== undefined) this.#isAway(reason);
        if (again || !isUnknownThere(client, thrown)) throw thrown;
        this.#forget(connecting);
      } finally {
        this.#leave(client, connecting);
      }
    }
  }

  /** Finds out whether the server is there, and accepts the credentials. Never rejects. */
  check(): Promise<void> {
    return this.#looking.run();
  }

  /** Finds out in the background whether the server is still there, if that is not known for certain. */
  look(): void {
    const ageMs = performance.now() - this.#knownAt;
    if (!this.#closed && ageMs > (this.#away === undefined ? THERE_MS : AWAY_MS)) void this.#looking.run();
  }

  get #subject(): string {
    return this.#name === "" ? "the MCP server" : `the MCP server ${this.#name}`;
  }

  /** The connected client; concurrent callers share one connection attempt. */
  #connected(): Promise<mcp.Client> {
    if (this.#closed) return Promise.reject(new Error("the connection to the MCP server was closed"));
    if (this.#client === undefined) {
      const connecting = this.#connect(() => {
        // A connection that was replaced says nothing of the newer one.
        if (this.#client === connecting) this.#isAway("has ended");
        this.#forget(connecting);
      });
      this.#client = connecting;
      connecting.then(
        (client) => {
          if (this.#options.name === "")
            this.#name = client.getServerVersion()?.name.slice(0, NAME_LENGTH) ?? "";
        },
        () => this.#forget(connecting),
      );
    }
    return this.#client;
  }

  async #connect(closed: () => void): Promise<mcp.Client> {
    const { target, connectMs, auth } = this.#options;
    const { signal } = this.#abort;
    const { Client } = await loadPackage();
    const client = new Client(
      { name: "troupe", version: "1" },
      {
        ...("url" in target && NEGOTIATE),
        listChanged: { tools: { onChanged: (_error, tools) => tools && this.#list(tools) } },
      },
    );
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- it has this callback only
    client.onclose = closed;
    const transport = await toTransport(target, auth);
    const { promise: stopped, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Silence(connectMs)), connectMs);
    const abort = (): void => reject(new Error("the connection to the MCP server was closed"));
    signal.addEventListener("abort", abort);
    if (signal.aborted) abort();
    try {
      await Promise.race([client.connect(transport), stopped]);
      return client;
    } catch (thrown) {
      // Ends a program that hangs.
      const ending = transport.close().catch(() => {});
      this.#ending.add(ending);
      void ending.then(() => this.#ending.delete(ending));
      if (signal.aborted) throw thrown;
      const reason = toReason(thrown) ?? "does not answer";
      this.#isAway(reason);
      throw new AgentError("unavailable", `${this.#subject} ${reason}`, { cause: thrown });
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    }
  }

  #isThere(): void {
    this.#away = undefined;
    this.#failures = 0;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#knownAt = performance.now();
  }

  #isAway(reason: string): void {
    this.#away = reason;
    this.#knownAt = performance.now();
    if (this.#host === undefined || this.#stopTimer !== undefined) return;
    const { environment } = this.#host;
    const pauseMs = backoffMs(RETRY, this.#failures, environment.random());
    this.#failures += 1;
    this.#stopTimer = environment.timer(pauseMs, () => {
      this.#stopTimer = undefined;
      void this.#looking.run();
    });
  }

  #list(tools: readonly mcp.Tool[]): void {
    this.#tools = tools;
    this.#options.listed(tools);
  }

  /** Has the tools listed. Never rejects. */
  async #look(): Promise<void> {
    try {
      const { connectMs: timeout } = this.#options;
      const { tools } = await this.ask((client) => client.listTools({}, { timeout, cacheMode: "refresh" }));
      this.#list(tools);
    } catch (thrown) {
      const isFirst = this.#failures <= 1;
      this.#isAway(this.#away ?? "does not answer");
      if (isFirst) this.#host?.report(`the tools of ${this.#subject} cannot be read`, thrown);
    }
  }

  #forget(client: Promise<mcp.Client>): void {
    if (this.#client === client) this.#client = undefined;
  }

  /** Closes a replaced client when its last call has ended. */
  #leave(client: mcp.Client, connecting: Promise<mcp.Client>): void {
    const others = (this.#asking.get(client) ?? 1) - 1;
    if (others > 0) {
      this.#asking.set(client, others);
      return;
    }
    this.#asking.delete(client);
    if (connecting !== this.#client) client.close().catch(() => {});
  }
}

/** How long an answer counts as a sign that the server is there. */
const THERE_MS = 30_000;

/** The time between two attempts to reach a server that is away, if no runtime keeps the connection. */
const AWAY_MS = 5_000;

/** The pauses between the attempts to reach a server that is away. */
const RETRY = { firstMs: 1_000, mostMs: 30_000 };

const NAME_LENGTH = 64;

/**
 * Asking a program for its version would start it twice; programs that speak only the newest version do not
 * exist yet.
 */
const NEGOTIATE = { versionNegotiation: { mode: "auto" } } as const;

const REFUSES = "refuses the credentials";

/** The server has not introduced itself in time. */
class Silence extends Error {
  readonly ms: number;

  constructor(ms: number) {
    super(`no answer within ${ms} ms`);
    this.ms = ms;
  }
}

/** Whether the server refused a request because it does not know the session. */
function isUnknownThere({ transport }: mcp.Client, thrown: unknown): boolean {
  const { status } = (thrown ?? {}) as { readonly status?: unknown };
  // The standard says 404; many servers use 400.
  return transport?.sessionId !== undefined && (status === 404 || status === 400);
}

/** What the server does instead of answering, without its address; `undefined` for an error of another kind. */
function toReason(thrown: unknown): string | undefined {
  const { code, status } = (thrown ?? {}) as { readonly code?: unknown; readonly status?: unknown };
  if (thrown instanceof Silence) return `has not answered within ${thrown.ms} ms`;
  const { name } = (thrown ?? {}) as { readonly name?: unknown };
  if (status === 401 || status === 403 || name === "UnauthorizedError") return REFUSES;
  if (isLost(thrown)) return "has ended";
  if (code === "ENOENT" || code === "EACCES") return `cannot be started (${code})`;
  // The error of `fetch` for a failed connection, which that of the negotiation has as its cause.
  if (thrown instanceof TypeError) return "cannot be reached";
  return code === "ERA_NEGOTIATION_FAILED" ? toReason((thrown as Error).cause) : undefined;
}
