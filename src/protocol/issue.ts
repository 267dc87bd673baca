/** One thing that is wrong with a value, and where in it. */
export interface Issue {
  /** Steps from the root of the value, joined by dots; empty for the value itself. */
  readonly path: string;
  readonly message: string;
}

/** How a value is refused: it is not what was expected, cannot be kept as it is, or is above a limit. */
export type Refusal = "invalid" | "unprocessable" | "too_large";
