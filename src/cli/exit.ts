/** The exit codes of the commands, for scripts and supervisors. */
export const EXIT = {
  /** The turn failed. */
  failed: 1,
  /** Wrong usage of the command line. */
  usage: 2,
  /** The turn was canceled. */
  canceled: 3,
  /** The turn waits for an answer, and there is no terminal to ask on. */
  waits: 4,
  /** An agent file does not load. */
  agents: 65,
  /** There is no such agent, run or request. */
  unknown: 66,
  /** No server or no database answers, or the port is taken. */
  unavailable: 69,
  /** The data directory cannot be used. */
  data: 73,
  /** The log has lost or damaged entries. */
  damaged: 74,
  /** Another process uses the data directory. */
  inUse: 75,
  /** The server refuses the token. */
  token: 77,
  /** The configuration is not safe, or does not fit the database. */
  refused: 78,
  /** Left with Ctrl-C. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Ends the process with a message and an exit code; thrown by commands, caught by the program. */
export class Exit extends Error {
  override readonly name = "Exit";
  readonly code: ExitCode;
  /** What mends it, in one line or several. */
  readonly hint: readonly string[];

  constructor(code: ExitCode, message: string, hint: string | readonly string[] = []) {
    super(message);
    this.code = code;
    this.hint = typeof hint === "string" ? [hint] : hint;
  }
}
