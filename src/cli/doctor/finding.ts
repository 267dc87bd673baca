/** What a check found. */
export interface Finding {
  /** What was checked, in a word. */
  readonly subject: string;
  readonly ok: boolean;
  readonly message: string;
  /** What mends it: mostly a command. */
  readonly fix?: string;
}
