import { persist } from "../wire/persist.ts";
import type { Wire } from "../wire/wire.ts";

/** Cancels a request elsewhere, without insisting for ever. Never rejects. */
export async function abandon(wire: Wire, requestId: string, limitMs: number): Promise<void> {
  const body = { type: "CancelRequest", request_id: requestId };
  try {
    await persist({ clock: wire.clock, limitMs }, () =>
      wire.ask("POST", "/process", { body, timeoutMs: limitMs }),
    );
  } catch {
    // It has ended, is gone, or cannot be reached; the call here is over anyway.
  }
}
