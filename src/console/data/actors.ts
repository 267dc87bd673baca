import type { PageServer } from "./page-server.ts";

/** An actor that is in memory now. */
export interface ActorFacts {
  readonly run_id: string;
  readonly agent: string;
  readonly key?: string;
  readonly status: string;
  readonly queued: number;
  readonly unread: number;
  /** When it is removed if nothing happens to it until then. */
  readonly expires_at?: string;
  /** What it waits for inside the process. */
  readonly calls: readonly { readonly call_id: string; readonly kind: string; readonly name: string }[];
}

export async function readActors(server: PageServer, signal: AbortSignal): Promise<readonly ActorFacts[]> {
  const { json } = await server.ask("GET", "/inspect/actors", { signal });
  return json as readonly ActorFacts[];
}
