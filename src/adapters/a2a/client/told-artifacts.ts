import type { Artifact, Part } from "@a2a-js/sdk";
import type { ArtifactId } from "../../../protocol/ids.ts";
import type { Json } from "../../../protocol/json.ts";
import type { RemoteSession, RemoteSpeaker } from "../../../runtime/agent/remote-port.ts";
import { sha256 } from "../../../shared/sha256.ts";
import { toMediaType } from "../../../http/messages/inline-file.ts";
import type { A2aConnection } from "./connection.ts";

/** What the log has of an artifact. */
export interface ToldArtifact {
  readonly id: string;
  /** How many characters of its text. */
  readonly characters: number;
  readonly files: number;
  /** Whether its text was changed after it had been logged: the end of the call then has the right one. */
  readonly isChanged: boolean;
}

/** What this process has read of an artifact. */
interface Read {
  text: string;
  data: Json[];
  files: Part[];
}

/**
 * Logs the artifacts of a task. A stream may tell them from the beginning again, or as a whole, after a broken connection or a crash:
 * what the log has is not logged twice.
 */
export class ToldArtifacts {
  readonly #connection: A2aConnection;
  readonly #session: RemoteSession;
  readonly #speaker: RemoteSpeaker;
  readonly #told: Map<string, ToldArtifact>;
  readonly #read = new Map<string, Read>();

  constructor(
    connection: A2aConnection,
    session: RemoteSession,
    { speaker, told }: { readonly speaker: RemoteSpeaker; readonly told: readonly ToldArtifact[] },
  ) {
    this.#connection = connection;
    this.#session = session;
    this.#speaker = speaker;
    this.#told = new Map(told.map((artifact) => [artifact.id, artifact]));
  }

  /** For the saved state. */
  get kept(): readonly ToldArtifact[] {
    return [...this.#told.values()];
  }

  /** The text of all artifacts, if what was logged of one is not what it is now. */
  get corrected(): string | null {
    if (!this.kept.some(({ isChanged }) => isChanged)) return null;
    return [...this.#read.values()].map(({ text }) => text).join(GAP);
  }

  get hasText(): boolean {
    return this.kept.some(({ characters }) => characters > 0);
  }

  /** The data of all artifacts: one value as it is, several as a list. */
  get data(): Json {
    const all = [...this.#read.values()].flatMap(({ data }) => data);
    return all.length > 1 ? all : (all[0] ?? null);
  }

  /** What follows is told from the beginning. */
  restart(): void {
    this.#read.clear();
  }

  /** Takes a part of an artifact, or a whole one. */
  async take({ artifactId, parts }: Artifact, isMore: boolean): Promise<void> {
    const known = this.#read.get(artifactId);
    const text = textOfParts(parts);
    const before = isMore ? known : undefined;
    const isChanged = !isMore && known !== undefined && !text.startsWith(known.text);
    const read: Read = {
      text: (before?.text ?? "") + text,
      data: [...(before?.data ?? []), ...parts.flatMap(dataOf)],
      files: [...(before?.files ?? []), ...parts.filter(isFile)],
    };
    this.#read.set(artifactId, read);
    await this.#tell(artifactId, read, isChanged);
  }

  /** Logs a text. */
  say(text: string): void {
    for (const content of text.match(PIECES) ?? [])
      this.#session.say(this.#speaker, { type: "TextOutput", content });
  }

  async #tell(id: string, { text, files }: Read, isChanged: boolean): Promise<void> {
    const told = this.#told.get(id) ?? { id, characters: 0, files: 0, isChanged: false };
    const hasChanged = told.isChanged || isChanged;
    const more = hasChanged ? "" : text.slice(told.characters);
    if (more !== "") this.say(told.characters === 0 && this.hasText ? GAP + more : more);
    let count = told.files;
    for (const file of files.slice(told.files)) {
      await this.#store(file, `${id}/${count}`);
      count += 1;
    }
    const characters = Math.max(told.characters, text.length);
    this.#told.set(id, { id, characters, files: count, isChanged: hasChanged });
  }

  /** Stores a file here; one of another server is only named, since nothing here opens what an agent points at. */
  async #store({ content, filename, mediaType }: Part, place: string): Promise<void> {
    const name = filename === "" ? "file" : filename.slice(0, 255);
    const artifactId = `art_${await sha256(`${this.#session.key}/file/${place}`)}` as ArtifactId;
    const mimeType = toMediaType(mediaType);
    const { signal } = this.#session;
    if (content?.$case === "raw") {
      const file = { artifactId, name, mimeType, body: once(new Uint8Array(content.value)) };
      this.#session.say(this.#speaker, await this.#session.store(file));
      return;
    }
    const url = String(content?.value ?? "");
    const response = await this.#connection.openFile(url, signal);
    if (response === undefined) {
      this.say(`${this.hasText ? GAP : ""}${name}: ${url}`);
      return;
    }
    const body = response.body ?? once(new Uint8Array());
    this.#session.say(this.#speaker, await this.#session.store({ artifactId, name, mimeType, body }));
  }
}

/** Between the texts of two artifacts. */
const GAP = "\n\n";

/** Parts of a text, each of which fits into one event. */
const PIECES = /[^]{1,32768}(?![\uDC00-\uDFFF])/g;

/** The text of parts. */
export function textOfParts(parts: readonly Part[]): string {
  return parts.map(({ content }) => (content?.$case === "text" ? content.value : "")).join("");
}

function dataOf({ content }: Part): readonly Json[] {
  return content?.$case === "data" ? [(content.value ?? null) as Json] : [];
}

function isFile({ content }: Part): boolean {
  return content?.$case === "raw" || content?.$case === "url";
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
