import type { Runtime } from "../runtime/api.ts";
import type { ReportFault } from "./request-listener.ts";

/** A protocol with a socket of its own. It starts and stops with the server. */
export interface Listener {
  /** The name of the protocol. */
  readonly name: string;
  /** Starts to listen; `report` gets unexpected errors from then on. */
  listen(runtime: Runtime, options: { readonly report: ReportFault }): Promise<Listening>;
}

/** A listener that accepts connections. */
export interface Listening {
  /** Where clients reach it, for people. */
  readonly address: string;
  /** Stops properly: it waits for running answers, and cuts the rest after `graceMs`. */
  close(options: { readonly graceMs: number }): Promise<void>;
}

/** Where a protocol is served. */
export interface ListenerAddress {
  readonly name: string;
  readonly address: string;
}

/** Started listeners. */
export interface StartedListeners {
  readonly addresses: readonly ListenerAddress[];
  close(options: { readonly graceMs: number }): Promise<void>;
}

/** Starts listeners one after the other. If one fails, those before it are stopped again. */
export async function startListeners(
  listeners: readonly Listener[],
  runtime: Runtime,
  report: ReportFault,
): Promise<StartedListeners> {
  const addresses: ListenerAddress[] = [];
  const started: Listening[] = [];

  async function close(options: { readonly graceMs: number }): Promise<void> {
    const ends = await Promise.allSettled(started.map((listening) => listening.close(options)));
    for (const end of ends) if (end.status === "rejected") report("stopping a listener failed", end.reason);
  }

  try {
    for (const listener of listeners) {
      const listening = await listener.listen(runtime, { report });
      started.push(listening);
      addresses.push({ name: listener.name, address: listening.address });
    }
  } catch (thrown) {
    await close({ graceMs: 0 });
    throw thrown;
  }
  return { addresses, close };
}
