import type { ResponseWriter } from "./response-writer.ts";

/**
 * Creates a writer into the body of a Response, for hosts other than Node and for calls in process. It calls `gone` when the
 * reader has disconnected.
 */
export function createWebWriter(gone: () => void): {
  readonly writer: ResponseWriter;
  readonly body: ReadableStream<Uint8Array>;
} {
  let caughtUp: (() => void) | undefined;
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>(
    {
      start: (its) => {
        controller = its;
      },
      pull: resume,
      cancel: close,
    },
    { highWaterMark: BUFFER_BYTES, size: (chunk) => chunk?.byteLength ?? 0 },
  );
  const isReady = (): boolean => controller === undefined || (controller.desiredSize ?? 0) > 0;
  const writer: ResponseWriter = {
    write: (text) => {
      controller?.enqueue(encoder.encode(text));
      return isReady();
    },
    drained: () => {
      if (isReady()) return Promise.resolve();
      return new Promise((resolve) => {
        caughtUp = resolve;
      });
    },
    end: (text) => {
      if (text !== "") controller?.enqueue(encoder.encode(text));
      controller?.close();
      controller = undefined;
    },
    cut: () => {
      controller?.error(new Error("the reader has stopped reading"));
      close();
    },
  };
  return { writer, body };

  function resume(): void {
    caughtUp?.();
    caughtUp = undefined;
  }

  function close(): void {
    controller = undefined;
    gone();
    resume();
  }
}

const encoder = new TextEncoder();

/** Maximum unread text of a web stream. */
const BUFFER_BYTES = 65_536;
