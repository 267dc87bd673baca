import type { AgUiEvent } from "./event.ts";

/** How the events of a stream are written. */
export interface Encoding {
  /** The type of the stream. */
  readonly type: string;
  /** Whether a frame is bytes, one in each character. */
  readonly isBinary: boolean;
  /** An event as a frame; binary frames have no number. */
  frame(event: AgUiEvent, id?: number): string;
}

/** The encoding that a client accepts; `undefined` if it accepts none that this server has. */
export async function findEncoding(accept: string = TEXT.type): Promise<Encoding | undefined> {
  for (const type of typesOf(accept)) {
    if (TEXTS.has(type)) return TEXT;
    const binary = type === BINARY ? await loadBinary() : undefined;
    if (binary !== undefined) return binary;
  }
  return undefined;
}

const TEXT: Encoding = {
  type: "text/event-stream",
  isBinary: false,
  frame: (event, id) => `${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(event)}\n\n`,
};

const BINARY = "application/vnd.ag-ui.event+proto";
const TEXTS: ReadonlySet<string> = new Set([TEXT.type, "text/*", "*/*"]);

/** The types of an Accept header, the preferred ones first. */
function typesOf(accept: string): readonly string[] {
  return accept
    .split(",")
    .map((entry) => {
      const [type = "", ...parameters] = entry.split(";").map((part) => part.trim().toLowerCase());
      const quality = parameters.find((parameter) => parameter.startsWith("q="));
      return { type, quality: quality === undefined ? 1 : Number(quality.slice(2)) };
    })
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality)
    .map(({ type }) => type);
}

let binary: Promise<Encoding | undefined> | undefined;

/** The binary form, if its package is installed. */
function loadBinary(): Promise<Encoding | undefined> {
  binary ??= import("@ag-ui/encoder").then(
    ({ EventEncoder }): Encoding => {
      const encoder = new EventEncoder({ accept: BINARY });
      return {
        type: BINARY,
        isBinary: true,
        frame: (event) =>
          toText(encoder.encodeProtobuf(event as unknown as Parameters<typeof encoder.encodeProtobuf>[0])),
      };
    },
    () => undefined,
  );
  return binary;
}

/** How many characters are made at once: each is an argument of a call. */
const AT_ONCE = 8_192;

function toText(bytes: Uint8Array): string {
  let text = "";
  for (let start = 0; start < bytes.length; start += AT_ONCE)
    text += String.fromCharCode(...bytes.subarray(start, start + AT_ONCE));
  return text;
}
