/** A part of a process, as those who operate it see it. */
export interface ReadinessPart {
  /** What it is, in a word: `log`, `nodes`, `mcp` … Several parts can have the same name. */
  readonly name: string;
  /**
   * `ready`; `degraded` if requests are taken, but something that somebody should know is wrong; `failed` if the process
   * should get no requests.
   */
  readonly state: "ready" | "degraded" | "failed";
  /** Why it is not ready, or what to know of it, in a sentence without addresses and paths: anyone may read it. */
  readonly detail?: string;
}

/** Says how a part is now. It answers at once, from what it knows. */
export type ReadinessProbe = () => ReadinessPart | readonly ReadinessPart[];

/** The one list of the parts of a process that decide whether it gets requests. */
export interface Readiness {
  /** How all parts are now. A part that cannot say it is degraded. */
  parts(): readonly ReadinessPart[];

  /** Adds a part, until the returned function is called. */
  add(probe: ReadinessProbe): () => void;
}
