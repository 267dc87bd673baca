import { openSync, writeSync } from "node:fs";

/**
 * What was done outside of the server, as the world would remember it: one line for each effect and
 * each completion that was asked for, kept over all deaths of the server.
 */
export interface Outside {
  /** Does something that nobody can take back. */
  act(deed: Deed): void;
}

/** Something done outside. */
export interface Deed {
  readonly kind: "unsafe" | "idempotent" | "completion";
  /** Equal whenever the same thing is done again. */
  readonly key: string;
  readonly requestId: string;
  /** The call that did it, where it is known. */
  readonly callId?: string;
}

/** Opens the file in which deeds are kept. */
export function openOutside(path: string): Outside {
  const file = openSync(path, "a", 0o600);
  return { act: (deed) => void writeSync(file, `${JSON.stringify(deed)}\n`) };
}
