/** A fault of a value and its place in the value. */
export interface Issue {
  /** The path from the root of the value, joined by dots; empty for the value itself. */
  readonly path: string;
  readonly message: string;
}

/** How a value is refused: not what was expected, cannot be stored as it is, or above a limit. */
export type RefusalKind = "invalid" | "unprocessable" | "too_large";
