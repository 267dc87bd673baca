/** How the process ends when it cannot do what was asked, for scripts and supervisors. */
export const EXIT = {
  /** The command line is not understood. */
  usage: 2,
  /** An agent file cannot be loaded. */
  agents: 65,
  /** The port is taken. */
  port: 69,
  /** The log has lost or damaged entries. */
  damaged: 74,
  /** Another process has the data directory. */
  inUse: 75,
  /** A configuration that would not be safe. */
  refused: 78,
} as const;

/** One of the codes of `EXIT`. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Ends the process with a code after saying why; thrown by commands, caught by the program. */
export class Exit extends Error {
  override readonly name = "Exit";
  readonly code: ExitCode;
  readonly hint: string | undefined;

  constructor(code: ExitCode, message: string, hint?: string) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}
