import type { Context } from "hono";
import type { AppEnv } from "../../http/messages/app-env.ts";
import type { Host } from "../../http/routes/host.ts";

/** What one HTTP request of a client works with. */
export interface McpService {
  readonly c: Context<AppEnv>;
  readonly host: Host;
  /** The agent whose tools are served; undefined for those of all. */
  readonly agent: string | undefined;
  /** The address under which the client reaches the app. */
  readonly address: string;
}
