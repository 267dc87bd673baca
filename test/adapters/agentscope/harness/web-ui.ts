import type {
  AgentScopeObject,
  ContentObject,
  MessageObject,
} from "../../../../src/adapters/agentscope/index.ts";

/** A message as the browser client shows it. */
interface Shown {
  readonly id: string;
  readonly type: string;
  contents: ContentObject[];
}

/**
 * The rules by which the protocol's browser client collects objects: a delta adds to the last content that grows,
 * with any index; any other content replaces the first one; a message and the end of a response replace what they
 * name.
 */
export function show(objects: readonly AgentScopeObject[], before: readonly Shown[] = []): readonly Shown[] {
  let shown = before.map((message) => ({ ...message }));
  for (const object of objects) {
    if (object.object === "response") {
      if (object.output !== null) shown = object.output.map(toShown);
    } else if (object.object === "message") {
      shown = [...shown.filter(({ id }) => id !== object.id), toShown(object)];
    } else {
      const message = shown.find(({ id }) => id === object.msg_id);
      if (message === undefined) throw new Error(`Message not found for content of ${object.msg_id}`);
      addContent(message, object);
    }
  }
  return shown;
}

/** The texts that the client shows. */
export function shownTexts(shown: readonly Shown[]): string[] {
  return shown.flatMap(({ contents }) => contents.flatMap((item) => (item.type === "text" ? item.text : [])));
}

function toShown({ id, type, content }: MessageObject): Shown {
  return { id, type, contents: [...(content ?? [])] };
}

function addContent(message: Shown, content: ContentObject): void {
  const last = message.contents.at(-1);
  if (!content.delta) message.contents[0] = content;
  else if (last?.delta === true && last.type === "text" && content.type === "text")
    message.contents[message.contents.length - 1] = { ...last, text: last.text + content.text };
  else message.contents.push(content);
}
