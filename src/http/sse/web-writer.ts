import type { ResponseWriter } from "./response-writer.ts";

/**
 * Creates a writer into the body of a Response, for hosts other than Node and for calls in process. It calls `gone` when the
 * reader has disconnected. With `isBinary`, texts are bytes, one in each character.
 */
export function createWebWriter(
  gone: () => void,
  isBinary: boolean,
): {
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
  const encode = (text: string): Uint8Array =>
    isBinary ? Uint8Array.from(text, (byte) => byte.charCodeAt(0)) : encoder.encode(text);
  const isReady = (): boolean => controller === undefined || (controller.desiredSize ?? 0) > 0;
  const writer: ResponseWriter = {
    write: (text) => {
      controller?.enqueue(encode(text));
      return isReady();
    },
    drained: () => {
      if (isReady()) return Promise.resolve();
      return new Promise((resolve) => {
        caughtUp = resolve;
      });
    },
    end: (text) => {
      if (text !== "") controller?.enqueue(encode(text));
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
