/** The exit codes of the commands, for scripts and supervisors. */
export const EXIT = {
  /** Wrong usage of the command line. */
  usage: 2,
  /** An agent file does not load. */
  agents: 65,
  /** The port is taken. */
  port: 69,
  /** The data directory cannot be used. */
  data: 73,
  /** The log has lost or damaged entries. */
  damaged: 74,
  /** Another process uses the data directory. */
  inUse: 75,
  /** The configuration is not safe. */
  refused: 78,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Ends the process with a message and an exit code; thrown by commands, caught by the program. */
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
