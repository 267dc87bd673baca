import { AgentError } from "../../errors.ts";
import type { LanguageModel, ModelContext } from "../../ports/model.ts";
import type { Json } from "../../protocol/json.ts";
import { isObject } from "../../protocol/json.ts";
import type { Instructions, Message, MessageFile, ModelSettings, Prompt, ProviderOptions } from "./prompt.ts";

/** The versions of the specification of language models. In version 4 the data of a file has a tag. */
export type SpecificationVersion = LanguageModel["specificationVersion"];

/** What a call of a provider's model is made of, besides the prompt. */
export interface ProviderCallOptions {
  readonly version: SpecificationVersion;
  /** The settings of the model; those of the prompt come first. */
  readonly settings: ModelSettings;
  /** Reads the bytes of a file. */
  readonly readFile: ModelContext["readArtifact"];
  /** Whether the model takes images. */
  readonly images: boolean;
  /** Whether it takes PDF documents and sounds. */
  readonly files: boolean;
  /** Whether the stream also has its parts as the provider sends them. */
  readonly raw: boolean;
  readonly signal: AbortSignal;
}

/** The options of `doStream`, of which only these are read here. */
interface ProviderCall {
  readonly providerOptions?: ProviderOptions;
  readonly [option: string]: unknown;
}

/** Converts a prompt to the options of `doStream`, including the bytes of its files. */
export async function toProviderCall(prompt: Prompt, options: ProviderCallOptions): Promise<ProviderCall> {
  const { instructions, messages, tools, output } = prompt;
  const {
    toolChoice = "auto",
    cache,
    providerTools = [],
    ...settings
  } = withSettings(options.settings, prompt.settings ?? {});
  const said = await Promise.all(
    afterResults(messages, options)
      .filter(saysAnything)
      .map((message) => toProviderMessage(message, options)),
  );
  return {
    ...settings,
    prompt: [...withMark(toSystemMessages(instructions), cache), ...withMark(joinResults(said), cache)],
    ...(tools.length + providerTools.length > 0 && {
      tools: [
        ...tools.map(({ name, description, input }) => {
          return { type: "function", name, description, inputSchema: input };
        }),
        ...providerTools.map(({ id, name, args = {} }) => {
          return { type: options.version === "v2" ? "provider-defined" : "provider", id, name, args };
        }),
      ],
      toolChoice:
        typeof toolChoice === "string" ? { type: toolChoice } : { type: "tool", toolName: toolChoice.tool },
    }),
    ...(output && { responseFormat: { type: "json", schema: output } }),
    ...(options.raw && { includeRawChunks: true }),
    abortSignal: options.signal,
  };
}

/** Settings with others that come first. */
function withSettings(settings: ModelSettings, first: ModelSettings): ModelSettings {
  const { providerOptions: options } = settings;
  const { providerOptions: firstOptions } = first;
  const both = { ...settings, ...first };
  return options && firstOptions ? { ...both, providerOptions: withOptions(options, firstOptions) } : both;
}

/** Options with others that come first; those of each provider are joined. */
function withOptions(options: ProviderOptions, first: ProviderOptions): ProviderOptions {
  const joined = Object.entries(first).map(([name, own]) => [name, { ...options[name], ...own }] as const);
  return { ...options, ...Object.fromEntries(joined) };
}

/** A message of the specification. */
interface ProviderMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string | readonly object[];
  readonly providerOptions?: ProviderOptions;
}

/** Messages with the mark of a cache on the last one. */
function withMark(
  messages: readonly ProviderMessage[],
  cache: ProviderOptions | undefined,
): readonly ProviderMessage[] {
  const last = messages.at(-1);
  if (cache === undefined || last === undefined) return messages;
  return [
    ...messages.slice(0, -1),
    { ...last, providerOptions: withOptions(cache, last.providerOptions ?? {}) },
  ];
}

function toSystemMessages(instructions: Instructions): readonly ProviderMessage[] {
  const parts = typeof instructions === "string" ? [{ content: instructions }] : instructions;
  return parts.filter(({ content }) => content !== "").map((part) => ({ role: "system", ...part }));
}

/** Whether a message has any content. Many providers refuse a conversation with an empty one. */
function saysAnything(message: Message): boolean {
  if (message.role !== "assistant") return true;
  const { content, toolCalls = [], original } = message;
  return content.trim() !== "" || toolCalls.length > 0 || original !== undefined;
}

async function toProviderMessage(message: Message, options: ProviderCallOptions): Promise<ProviderMessage> {
  const { providerOptions } = message;
  const own = providerOptions && { providerOptions };
  switch (message.role) {
    case "user": {
      const { content, files = [] } = message;
      const shown = await Promise.all(files.map((file) => toFilePart(file, options)));
      const parts = [toText(content), ...shown.filter((part) => part !== undefined)];
      return { role: "user", content: parts, ...own };
    }
    case "assistant": {
      const { content, toolCalls = [], original } = message;
      if (Array.isArray(original)) {
        const parts = toOriginalParts(original as readonly Json[], options.version);
        return { role: "assistant", content: parts, ...own };
      }
      const calls = toolCalls.map(({ id, name, input }) => {
        return { type: "tool-call", toolCallId: id, toolName: name, input };
      });
      const parts = [...(content.trim() === "" ? [] : [toText(content)]), ...calls];
      return { role: "assistant", content: parts, ...own };
    }
    case "tool": {
      const { callId, name, content, isError = false } = message;
      const output = { type: isError ? "error-text" : "text", value: content };
      const part = { type: "tool-result", toolCallId: callId, toolName: name, output };
      return { role: "tool", content: [part], ...own };
    }
    default: {
      const never: never = message;
      return never;
    }
  }
}

/** The messages with the images of results in a message of the user after them: not every provider takes them in results. */
function afterResults(messages: readonly Message[], { images }: ProviderCallOptions): readonly Message[] {
  if (!images) return messages;
  const all: Message[] = [];
  let files: readonly MessageFile[] = [];
  let lines: readonly string[] = [];
  const show = (): void => {
    if (files.length > 0)
      all.push({ role: "user", content: `Files of the results: ${lines.join(", ")}`, files });
    files = [];
    lines = [];
  };
  for (const message of messages) {
    if (message.role !== "tool") show();
    all.push(message);
    if (message.role !== "tool" || message.files === undefined) continue;
    files = [...files, ...message.files];
    lines = [...lines, ...message.files.map(({ name }) => `${name} of ${message.name}`)];
  }
  show();
  return all;
}

function toText(text: string): object {
  return { type: "text", text };
}

/** The results of the calls of one answer are one message. */
function joinResults(messages: readonly ProviderMessage[]): readonly ProviderMessage[] {
  const joined: ProviderMessage[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (message.role !== "tool" || last?.role !== "tool") joined.push(message);
    else
      joined[joined.length - 1] = { ...last, ...message, content: [...partsOf(last), ...partsOf(message)] };
  }
  return joined;
}

function partsOf({ content }: ProviderMessage): readonly object[] {
  return typeof content === "string" ? [toText(content)] : content;
}

/** The part of a file; `undefined` if the model takes none of its kind, and if the bytes of an image are none. */
async function toFilePart(
  { artifactId, name, mediaType: declared }: MessageFile,
  { readFile, images, files, version }: ProviderCallOptions,
): Promise<object | undefined> {
  const isImage = declared.startsWith("image/");
  if (!(isImage ? images : files)) return undefined;
  try {
    const bytes = await readFile(artifactId);
    const mediaType = isImage ? imageTypeOf(bytes) : declared;
    if (mediaType === undefined) return undefined;
    // Providers show the name of a document to the model.
    return { type: "file", mediaType, data: toData(bytes, version), ...(!isImage && { filename: name }) };
  } catch (thrown) {
    // The file may have been removed since.
    if (thrown instanceof AgentError && thrown.code === "not_found") return undefined;
    throw thrown;
  }
}

/** The parts of an answer, as the model gets them back. */
function toOriginalParts(original: readonly Json[], version: SpecificationVersion): readonly object[] {
  const parts: object[] = [];
  for (const part of original) {
    if (!isObject(part)) continue;
    const { type, data } = part;
    if (version !== "v4" && (type === "reasoning-file" || type === "custom")) continue;
    parts.push(typeof data === "string" ? { ...part, data: toData(data, version) } : part);
  }
  return parts;
}

function toData(data: Uint8Array | string, version: SpecificationVersion): unknown {
  return version === "v4" ? { type: "data", data } : data;
}

/** The media type of an image by its first bytes, which providers rely on; `undefined` if it is no image. */
function imageTypeOf(bytes: Uint8Array): string | undefined {
  const head = String.fromCharCode(...bytes.subarray(0, 12));
  if (head.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (head.startsWith("GIF8")) return "image/gif";
  return head.startsWith("RIFF") && head.endsWith("WEBP") ? "image/webp" : undefined;
}
