import type { Host } from "../../http/routes/host.ts";
import type { RunReader } from "../../view/run-reader.ts";

/** An agent and what its routes work with. */
export interface AgenticService {
  readonly host: Host;
  readonly agent: string;
  readonly reader: RunReader;
}
