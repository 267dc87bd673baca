import { Command } from "../vendor/commander.ts";
import { addServerOptions } from "./server-options.ts";
import type { ServerOptions } from "./server-options.ts";

/** `troupe serve`: serves the agents of a directory until it is stopped. */
export function serveCommand(): Command {
  return addServerOptions(new Command("serve"))
    .description("Serves the agents of a directory.")
    .option("--console", "serve the console to browsers at the root", false)
    .addHelpText(
      "after",
      `
Clients send TROUPE_TOKEN, if it is set, as their bearer token. Servers that share a key of
TROUPE_PEER_KEYS act for their own principals.

Examples:
  troupe serve --console
  TROUPE_TOKEN=… troupe serve --host 0.0.0.0 --allowed-host agents.example.com --retain-days 30`,
    )
    .action(async (options: ServerOptions) => {
      // Loaded only here: the runtime and its protocols take longer to load than most commands take to run.
      const { serveAlone, serveForParent } = await import("./run-server.ts");
      await (process.send ? serveForParent(options) : serveAlone(options));
    });
}
