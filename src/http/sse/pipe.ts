/** The way of a stream's text to its reader. */
export interface Pipe {
  /** Sends a text. False when the reader is behind: then wait for `drained` before the next one. */
  write(text: string): boolean;
  /** Resolves when the reader has caught up, or has gone. */
  drained(): Promise<void>;
  /** Ends the answer in good order, with a text that may be empty. */
  end(text: string): void;
  /** Breaks the connection. */
  cut(): void;
}

/** What a pipe is told of its reader. */
export interface PipeOptions {
  /** Called when the reader has gone, for whatever reason. */
  readonly gone: () => void;
  /** How long the last bytes may take to be taken. */
  readonly stallMs: number;
}
