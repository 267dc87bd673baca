import type { VNode } from "preact";
import type { CallView, RunView } from "../../view/run-view.ts";
import { isObject } from "../../protocol/json.ts";
import type { Json } from "../../protocol/json.ts";
import type { InspectedCompletion } from "../../runtime/inspection.ts";
import { useConsole } from "../app/context.ts";
import { readInspectedCompletion } from "../data/inspect.ts";
import { useResource } from "../data/resource.ts";
import { JsonTree } from "../json/json-tree.tsx";
import { RefusalNote } from "../parts/refusal.tsx";
import { withQuery } from "../places/place.ts";

/** What a completion was asked: the chosen one, or the newest as of the event. */
export function PromptPart({ view }: { readonly view: RunView }): VNode | null {
  const { place, go } = useConsole();
  const completions = [...view.calls.values()].filter(({ kind }) => kind === "model");
  const newest = completions.at(-1);
  if (newest === undefined) return null;
  const chosen = completions.find(({ key }) => key === place.query["completion"]) ?? newest;
  return (
    <section class="state-part" aria-label="Prompt">
      <h2>Prompt</h2>
      <select
        class="input"
        aria-label="Completion"
        value={chosen.key}
        onChange={({ currentTarget }) => {
          const completion = currentTarget.value === newest.key ? undefined : currentTarget.value;
          go(withQuery(place, { completion }), { replace: true });
        }}
      >
        {completions.map(({ key, name, caller, startedId }) => (
          <option key={key} value={key}>
            {`event ${startedId}: ${caller} asks ${name}`}
          </option>
        ))}
      </select>
      <Prompt key={chosen.key} call={chosen} />
    </section>
  );
}

function Prompt({ call: { requestId, callId, attempt } }: { readonly call: CallView }): VNode {
  const { server } = useConsole();
  const { value, error } = useResource(`${server.url} ${requestId} ${callId} ${attempt}`, (signal) =>
    readInspectedCompletion(server, requestId, callId, signal),
  );
  if (error?.code === "not_found") {
    return (
      <p class="second">
        The log has no prompt of it: an agent on another server has asked the model, or prompts are not kept.
      </p>
    );
  }
  if (error !== undefined) return <RefusalNote error={error} />;
  if (value === undefined) return <div aria-busy="true" />;
  return <Whole prompt={value} />;
}

function Whole({ prompt }: { readonly prompt: InspectedCompletion }): VNode {
  const { instructions, messages, known_messages: known, tools, settings, input, cut } = prompt;
  const isContinued = known > 0 && known < messages.length;
  const shown = isContinued ? messages.slice(known) : messages;
  return (
    <>
      {cut && <p class="note">Long texts of this prompt were cut to keep the log small.</p>}
      {instructions !== undefined && (
        <div class="state-item">
          <h3>Instructions</h3>
          <Content value={instructions} />
        </div>
      )}
      {input !== undefined && (
        <div class="state-item">
          <h3>Input</h3>
          <Content value={input} />
        </div>
      )}
      {messages.length > 0 && (
        <div class="state-item">
          <h3>Messages</h3>
          {isContinued && (
            <details>
              <summary class="second">
                {known === 1 ? "1 message" : `${known} messages`} of the prompt before
              </summary>
              <Messages messages={messages.slice(0, known)} first={0} />
            </details>
          )}
          <Messages messages={shown} first={messages.length - shown.length} />
        </div>
      )}
      {Array.isArray(tools) && tools.length > 0 && (
        <div class="state-item">
          <h3>Tools</h3>
          <JsonTree value={byName(tools)} open={1} />
        </div>
      )}
      {Object.keys(settings).length > 0 && (
        <div class="state-item">
          <h3>Settings</h3>
          <JsonTree value={settings} open={1} />
        </div>
      )}
    </>
  );
}

function Messages({
  messages,
  first,
}: {
  readonly messages: readonly Json[];
  readonly first: number;
}): VNode {
  return (
    <ol class="prompt-messages" start={first + 1}>
      {messages.map((message, index) => (
        <li key={first + index}>
          <Message message={message} />
        </li>
      ))}
    </ol>
  );
}

/** A message in the form of the package's models; any other is shown as it is. */
function Message({ message }: { readonly message: Json }): VNode {
  if (message === null) return <p class="second">A message that was too long to keep.</p>;
  if (!isObject(message) || typeof message["content"] !== "string") return <Content value={message} />;
  const { role, content, name, toolCalls = [], callId: _, ...rest } = message;
  return (
    <>
      <p class="second">{[role, name].filter((part) => typeof part === "string").join(" ")}</p>
      {content !== "" && <Content value={content ?? null} />}
      {Array.isArray(toolCalls) && toolCalls.map((call: Json, index) => <ToolCall key={index} call={call} />)}
      {Object.keys(rest).length > 0 && <JsonTree value={rest} open={2} />}
    </>
  );
}

function ToolCall({ call }: { readonly call: Json }): VNode {
  if (!isObject(call) || typeof call["name"] !== "string") return <Content value={call} />;
  const { name, input = null } = call as { readonly name: string; readonly input?: Json };
  return (
    <div class="state-item">
      <p>calls {name}</p>
      <JsonTree value={input} />
    </div>
  );
}

function Content({ value }: { readonly value: Json }): VNode {
  if (typeof value !== "string") return <JsonTree value={value} />;
  return (
    <div class="code prompt-text" dir="auto">
      {value}
    </div>
  );
}

/** Tools by their names. */
function byName(tools: readonly Json[]): { readonly [name: string]: Json } {
  return Object.fromEntries(
    tools.map((tool, index) => {
      const name = isObject(tool) && typeof tool["name"] === "string" ? tool["name"] : String(index);
      return [name, tool];
    }),
  );
}
