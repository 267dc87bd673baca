import { retry } from "../wire/retry.ts";
import type { Wire } from "../wire/wire.ts";

/** Cancels a remote request, with retries for a limited time. Never rejects. */
export async function abandon(wire: Wire, requestId: string, limitMs: number): Promise<void> {
  const body = { type: "CancelRequest", request_id: requestId };
  try {
    await retry({ clock: wire.clock, limitMs }, () =>
      wire.ask("POST", "/process", { body, timeoutMs: limitMs }),
    );
  } catch {
    // It has ended, is gone, or is unreachable. The local call is over in any case.
  }
}
