import { openSync, writeSync } from "node:fs";

/**
 * The outside effects of the server, in a file that survives all its deaths: one line per effect and per
 * requested completion.
 */
export interface Outside {
  /** Records an irreversible effect. */
  act(deed: OutsideEffect): void;
}

/** An outside effect. */
export interface OutsideEffect {
  readonly kind: "unsafe" | "idempotent" | "completion";
  /** Equal for every attempt of the same effect. */
  readonly key: string;
  readonly requestId: string;
  /** The call of the effect, if it is known. */
  readonly callId?: string;
}

/** Opens the file of effects. */
export function openOutside(path: string): Outside {
  const file = openSync(path, "a", 0o600);
  return { act: (deed) => void writeSync(file, `${JSON.stringify(deed)}\n`) };
}
