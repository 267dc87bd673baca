import { InvalidArgumentError } from "./vendor/commander.ts";
import type { Command } from "./vendor/commander.ts";
import { createClient } from "../client/client.ts";
import { createScheduleClient } from "../client/schedule-client.ts";
import type { ScheduleClient } from "../client/schedule-client.ts";
import { createTopicClient } from "../client/topic-client.ts";
import type { TopicClient } from "../client/topic-client.ts";
import type { Client } from "../client/client-api.ts";
import { Wire } from "../client/wire/wire.ts";
import type { WireOptions } from "../client/wire/wire.ts";
import { AgentError, isInstance } from "../errors.ts";
import { closest } from "./closest.ts";
import { EXIT, Exit } from "./exit.ts";
import type { ExitCode } from "./exit.ts";
import { stderr, stdout } from "./print/terminal.ts";
import { findServerUrl } from "./server-url.ts";

/** The options of a command that talks to a server. */
export interface ConnectionOptions {
  readonly url?: string;
}

/** Adds the options of a command that talks to a server. */
export function addConnectionOptions(command: Command): Command {
  return command.option(
    "--url <url>",
    "address of the server; default: TROUPE_URL, what dev or serve has noted in .troupe, else port 4100",
    parseUrl,
  );
}

/** A client for the server of a command. It notes when the connection is lost, and when there is one again. */
export function connectToServer(
  options: ConnectionOptions,
  note: (text: string) => void = (text) => stderr.line(text),
): Client {
  const { url, ...wire } = toConnection(options, note);
  return createClient(url, wire);
}

/** The client of the schedules of the server of a command. */
export function connectToSchedules(options: ConnectionOptions): ScheduleClient & { readonly url: string } {
  const { url, ...wire } = toConnection(options, (text) => stderr.line(text));
  return { url, ...createScheduleClient(url, wire) };
}

/** The client of the topics of the server of a command. */
export function connectToTopics(options: ConnectionOptions): TopicClient & { readonly url: string } {
  const { url, ...wire } = toConnection(options, (text) => stderr.line(text));
  return { url, ...createTopicClient(url, wire) };
}

/** The connection to the server of a command, for routes that no client needs. */
export function connectWire(options: ConnectionOptions): Wire {
  const { url, ...wire } = toConnection(options, (text) => stderr.line(text));
  return new Wire(url, wire);
}

function toConnection(
  options: ConnectionOptions,
  note: (text: string) => void,
): WireOptions & { readonly url: string } {
  stdout.onError(leave);
  const token = process.env["TROUPE_TOKEN"] ?? "";
  const { url } = findServerUrl(options.url);
  return { url, fetch: createNotingFetch(url, note), ...(token !== "" && { token }) };
}

/** A server that commands talk to. */
type Talked = Pick<Client, "url">;

/** Runs what talks to a server; what goes wrong becomes an exit code, a fact and a fix. */
export async function talk<Result>(client: Talked, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (thrown) {
    throw isInstance(thrown, AgentError) ? toExit(client, thrown) : thrown;
  }
}

/**
 * Throws if the server does not answer. For a command that follows a stream: once it reads, it waits for a server that
 * is started again.
 */
export async function requireServer(client: Client): Promise<void> {
  await client.agents();
}

/** The error for an agent that the server does not have, with the name that was probably meant. */
export async function requireAgent(client: Client, name: string): Promise<void> {
  const names = (await client.agents()).map((agent) => agent.name);
  if (names.includes(name)) return;
  const near = closest(name, names);
  const fix = near === undefined ? `the agents are ${names.join(", ")}` : `did you mean ${near}?`;
  throw new Exit(EXIT.unknown, `there is no agent ${name} at ${client.url}`, fix);
}

/** Ends the command when its output cannot be written. A closed pipe, for example to `head`, counts as Ctrl-C. */
function leave({ code, message }: NodeJS.ErrnoException): void {
  if (code !== "EPIPE") {
    stderr.line(`troupe: the output cannot be written: ${code ?? message}`);
    process.exit(EXIT.failed);
  }
  if (!process.emit("SIGINT", "SIGINT")) process.exit(0);
}

function toExit(client: Talked, { code, message, details }: AgentError): Exit {
  if (code === "unauthorized") {
    return new Exit(EXIT.token, message, "export TROUPE_TOKEN=…");
  }
  if (code === "unavailable" || code === "call_failed") {
    const hint = details.hint ?? "npx troupe dev starts a server; --url names another one";
    return new Exit(EXIT.unavailable, `no server answers at ${client.url}: ${message}`, hint);
  }
  const issues = (details.issues ?? []).filter((issue) => !message.includes(issue.message));
  const lines = issues.map(({ path, message: issue }) => `  ${path || "value"} ${issue}`);
  const exitCode = EXIT_CODES.get(code) ?? EXIT.failed;
  const hint = details.hint ?? (exitCode === EXIT.unknown ? LISTS : undefined);
  const more = `troupe explain ${code} says more`;
  return new Exit(exitCode, message, [...lines, ...(hint === undefined ? [] : [hint]), more]);
}

const LISTS = "troupe runs lists the runs; troupe events RUN shows the requests and files of one";

const EXIT_CODES: ReadonlyMap<string, ExitCode> = new Map([
  ["canceled", EXIT.canceled],
  ["gone", EXIT.unknown],
  ["invalid_request", EXIT.usage],
  ["not_found", EXIT.unknown],
  ["unprocessable", EXIT.usage],
]);

/** The address of a server, as an argument or an option has it. */
export function parseUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw new InvalidArgumentError("The URL must start with http:// or https://.");
  }
  return text.replace(/\/+$/, "");
}

/**
 * A `fetch` that notes when the server cannot be reached any more, and when it can again, each once. A command that never
 * reached the server ends with an error, which says so.
 */
function createNotingFetch(url: string, note: (text: string) => void): typeof fetch {
  let state: "new" | "connected" | "lost" = "new";

  const lost = (): void => {
    if (state !== "connected") return;
    state = "lost";
    note(`no connection to ${url}; trying again`);
  };

  return async (input, init) => {
    try {
      const response = await fetch(input, init);
      if (GATEWAY_FAULTS.has(response.status)) {
        lost();
      } else {
        if (state === "lost") note(`connected again to ${url}`);
        state = "connected";
      }
      return response;
    } catch (thrown) {
      // The client ends a request with an error when it took too long, and without one when it needs no answer.
      if (init?.signal?.aborted !== true || isInstance(init.signal.reason, AgentError)) lost();
      throw thrown;
    }
  };
}

/** What a proxy answers for a server that cannot be reached, and a server that stops. */
const GATEWAY_FAULTS: ReadonlySet<number> = new Set([502, 503, 504]);
