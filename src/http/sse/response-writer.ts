/** Sends a stream's text to its reader. */
export interface ResponseWriter {
  /** Sends a text; an empty one sends only the headers. Returns false if the reader is behind: then wait for `drained` before the next write. */
  write(text: string): boolean;
  /** Resolves when the reader has caught up or disconnected. */
  drained(): Promise<void>;
  /** Ends the response properly, with a last text that may be empty. */
  end(text: string): void;
  /** Closes the connection abruptly. */
  cut(): void;
}
