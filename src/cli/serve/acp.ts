import { Readable } from "node:stream";
import { resolve } from "node:path";
import { Command } from "../vendor/commander.ts";
import { serveAcp } from "../../adapters/acp/acp.ts";
import { createClient } from "../../client/client.ts";
import { AgentError, isInstance } from "../../errors.ts";
import { parseUrl } from "../connect.ts";
import { EXIT, Exit } from "../exit.ts";
import { loadAgents } from "../load-agents.ts";
import { stderr, takeStdout } from "../print/terminal.ts";
import { findServerUrl } from "../server-url.ts";
import { addServerOptions } from "./server-options.ts";
import type { ServerOptions } from "./server-options.ts";

interface AcpCommandOptions {
  readonly url?: string;
  readonly directory: string;
  readonly mcp: boolean;
}

/** `troupe acp`: an agent in an editor. */
export function acpCommand(): Command {
  return new Command("acp")
    .description(
      "Speaks the Agent Client Protocol on standard input and output, for the editor that starts it.",
    )
    .argument("[agent]", "the agent; default: the default agent of the server")
    .option(
      "--url <url>",
      "address of the server; default: TROUPE_URL, what dev or serve has noted, else one is started here",
      parseUrl,
    )
    .option("--directory <path>", "the project: where agents/ and .troupe are", ".")
    .option(
      "--mcp",
      "give the agent the MCP servers of the editor, with their keys, which the log then has",
      false,
    )
    .addHelpText(
      "after",
      `
It needs the package @agentclientprotocol/sdk. docs/protocols/acp.md has the settings of editors.

Example: troupe acp assistant --directory my-agents`,
    )
    .action(run);
}

async function run(agent: string | undefined, options: AcpCommandOptions): Promise<void> {
  const output = takeStdout();
  const cwd = resolve(".");
  enter(options.directory);
  const { url, close } = await findOrStart(options.url);
  const token = process.env["TROUPE_TOKEN"] ?? "";
  const connection = await start();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.once(signal, () => connection.close());
  await connection.closed;
  await close();
  process.exit(0);

  async function start() {
    try {
      return await serveAcp(
        {
          url,
          cwd,
          mcpServers: options.mcp,
          ...(agent !== undefined && { agent }),
          ...(token !== "" && { token }),
        },
        { output, input: Readable.toWeb(process.stdin) as ReadableStream<Uint8Array> },
      );
    } catch (thrown) {
      if (!isInstance(thrown, AgentError)) throw thrown;
      throw new Exit(EXIT.refused, thrown.message, thrown.details.hint);
    }
  }
}

function enter(directory: string): void {
  try {
    process.chdir(directory);
  } catch {
    throw new Exit(EXIT.usage, `there is no directory ${resolve(directory)}`, "name one with --directory");
  }
}

interface FoundServer {
  readonly url: string;
  close(): Promise<void>;
}

/** The server that is named or noted, if it answers; else one for this editor. */
async function findOrStart(option: string | undefined): Promise<FoundServer> {
  const { url, source } = findServerUrl(option);
  const isNamed = source === "option" || source === "TROUPE_URL";
  if (isNamed || (await answers(url))) return { url, close: async () => {} };
  const { startServer } = await import("./start-server.ts");
  const words = ["--port", "0", "--wires", "none"];
  const options = addServerOptions(new Command()).parse(words, { from: "user" }).opts<ServerOptions>();
  const lines = (text: string): void => stderr.line(text);
  const log = { info() {}, warn: lines, fault: lines };
  const loaded = await loadAgents(options.agents);
  const { server, runtime } = await startServer({ ...options, console: false }, loaded, log);
  return {
    url: server.url,
    // Open turns continue after the next start.
    async close() {
      await Promise.allSettled([server.close({ graceMs: 0 }), runtime.close({ drainMs: 0 })]);
    },
  };
}

/** Whether there is a server, also one that refuses. */
async function answers(url: string): Promise<boolean> {
  const client = createClient(url, { attempts: 1 });
  try {
    await client.agents({ signal: AbortSignal.timeout(ANSWER_MS) });
    return true;
  } catch (thrown) {
    return isInstance(thrown, AgentError) && thrown.code === "unauthorized";
  }
}

const ANSWER_MS = 2_000;
