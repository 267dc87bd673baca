/** The pages of the console: files that the server sends as they are. */
export interface ConsolePages {
  /** The version of the package, which the console shows. */
  readonly version?: string;
  /** The page itself, which is sent at the root. Its links are relative to the root. */
  readonly page: string;
  /** The files below `/console/`, by name. */
  readonly files: ReadonlyMap<string, ConsoleFile>;
}

/** A file of the console. */
export interface ConsoleFile {
  readonly type: string;
  readonly text: string;
}
