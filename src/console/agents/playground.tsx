import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import { toAgentError } from "../../errors.ts";
import type { OperationDescriptor } from "../../protocol/answers/descriptor.ts";
import { parseJson } from "../../protocol/json.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { useConsole } from "../app/context.ts";
import { asksForSecret, useDraft } from "../data/drafts.ts";
import { useRequestId } from "../data/request-id.ts";
import { sendTurn } from "../data/requests.ts";
import type { SentRequest } from "../data/requests.ts";
import { AttachmentPicker, useAttachments } from "../parts/attachments.tsx";
import { refusalText } from "../parts/refusal.tsx";
import { emptyDraft, readDraft, toDraft } from "../forms/draft.ts";
import type { Draft, Fault } from "../forms/draft.ts";
import { FormField } from "../forms/form.tsx";
import { toFault } from "../forms/question-form.tsx";
import { ActButton, pressSubmit } from "../parts/act-button.tsx";
import { Copy } from "../parts/copy.tsx";
import { toCurl } from "../parts/curl.ts";
import type { ShellRequest } from "../parts/curl.ts";

interface PlaygroundProps {
  readonly agent: string;
  readonly operation: OperationDescriptor;
  /** The run that it is sent to, where it waits for the turns before it; a new one by default. */
  readonly runId?: string;
  /** Another agent that gets the same message, and the run of it. */
  readonly beside?: { readonly agent: string; readonly runId?: string };
  onSent(sent: SentRequest, beside?: SentRequest): void;
}

/** One operation as a form. */
export function Playground({ agent, operation, runId, beside, onSent }: PlaygroundProps): VNode {
  const { server } = useConsole();
  const { name, description } = operation;
  const isChat = name === "chat";
  const schema = isChat ? CHAT : (operation.input_schema ?? ANY);
  const isKept = useMemo(() => !asksForSecret(schema), [schema]);
  const [{ draft, json }, setInput, dropInput] = useDraft<Input>(
    runId === undefined ? `agent ${agent} ${name}` : `run ${runId} ${name}`,
    () => ({ draft: emptyDraft(schema, schema) }),
    isKept,
  );
  const [faults, setFaults] = useState<readonly Fault[]>([]);
  const [refusal, setRefusal] = useState<string>();
  const [isSending, setSending] = useState(false);
  const [count, setCount] = useState(0);
  const attachments = useAttachments();
  const { ids, isUploading } = attachments;
  const requestId = useRequestId(draft, json, count, ids.join());
  const besideId = useRequestId(draft, json, count, ids.join());

  /** The input as typed so far; `undefined` if it is not complete. */
  const read = (): Json | undefined => {
    if (json !== undefined) {
      const value = parseJson(json);
      setFaults(value === undefined ? [{ path: "", message: "is not JSON" }] : []);
      return value;
    }
    const { value, faults: found } = readDraft(schema, schema, draft);
    setFaults(found);
    return found.length > 0 ? undefined : (value ?? null);
  };

  const send = async (): Promise<void> => {
    if (isSending || isUploading) return;
    const input = read();
    if (input === undefined) return;
    setSending(true);
    setRefusal(undefined);
    try {
      const toMore = (run: string | undefined): JsonObject => ({
        ...(run !== undefined && { run_id: run, on_busy: "enqueue" }),
        ...(ids.length > 0 && { attachments: ids }),
      });
      const [sent, sentBeside] = await Promise.all([
        sendTurn(server, requestId, agent, name, input, toMore(runId)),
        beside && sendTurn(server, besideId, beside.agent, name, input, toMore(beside.runId)),
      ]);
      // The same input can be sent again as another request.
      setCount(count + 1);
      if (isChat) setInput({ draft: emptyDraft(schema, schema) });
      dropInput();
      attachments.clear();
      onSent(sent, sentBeside);
    } catch (thrown) {
      const error = toAgentError(thrown);
      setFaults((error.details.issues ?? []).map(toFault));
      setRefusal(refusalText(error));
    }
    setSending(false);
  };

  const toJson = (): void => {
    const { value } = readDraft(schema, schema, draft);
    setInput({ draft, json: JSON.stringify(value ?? null, null, 2) });
  };
  const toForm = (): void => {
    const value = json === undefined ? undefined : parseJson(json);
    if (value === undefined) return setFaults([{ path: "", message: "is not JSON" }]);
    setFaults([]);
    return setInput({ draft: toDraft(schema, schema, value) });
  };
  const shown = ((): Json => {
    const value = json === undefined ? readDraft(schema, schema, draft).value : parseJson(json);
    return value ?? null;
  })();

  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || event.isComposing) return;
        // On a button, Enter alone presses the button.
        const isInText = event.target instanceof HTMLTextAreaElement;
        if (event.ctrlKey || event.metaKey || (isChat && isInText && !event.shiftKey)) {
          event.preventDefault();
          pressSubmit(event.currentTarget);
        }
      }}
    >
      {description !== "" && (
        <p class="second" dir="auto">
          {description}
        </p>
      )}
      {json === undefined ? (
        <FormField
          schema={schema}
          root={schema}
          path=""
          label={isChat ? `Message to ${agent}` : ""}
          draft={draft}
          isRequired
          faults={faults}
          isDisabled={isSending}
          onDraft={(next) => setInput({ draft: next })}
        />
      ) : (
        <JsonInput text={json} faults={faults} onText={(next) => setInput({ draft, json: next })} />
      )}
      {refusal !== undefined && (
        <p class="note failed" role="alert">
          {refusal}
        </p>
      )}
      <div class="actions">
        <ActButton class="button primary" disabled={isSending || isUploading}>
          Send
        </ActButton>
        {isChat && <AttachmentPicker {...attachments} />}
        {!isChat && (
          <button type="button" class="button quiet" onClick={json === undefined ? toJson : toForm}>
            {json === undefined ? "as JSON" : "as a form"}
          </button>
        )}
      </div>
      <div class="actions">
        <span class="second">Copy as</span>
        <Copy
          label="curl"
          name="the request as curl"
          text={toCurl({
            ...toShellRequest(server.url, agent, name, shown, runId),
            hasToken: server.token !== undefined,
          })}
        />
        {runId === undefined && (
          <Copy
            label="TypeScript"
            name="the request as TypeScript"
            text={toTypeScript(server.url, agent, name, shown)}
          />
        )}
      </div>
    </form>
  );
}

/** What was typed: a form, or JSON while that is shown. */
interface Input {
  readonly draft: Draft;
  readonly json?: string;
}

const ANY = {};
const CHAT = { type: "string", contentMediaType: "text/plain" };

interface JsonInputProps {
  readonly text: string;
  readonly faults: readonly Fault[];
  onText(text: string): void;
}

function JsonInput({ text, faults, onText }: JsonInputProps): VNode {
  return (
    <div class="field">
      <label for="json-input">Input as JSON</label>
      <textarea
        id="json-input"
        class="input mono"
        rows={8}
        value={text}
        aria-invalid={faults.length > 0}
        onInput={(event) => onText(event.currentTarget.value)}
      />
      {faults.map(({ path, message }) => (
        <p class="fault" role="alert" key={path + message}>
          {path} {message}
        </p>
      ))}
    </div>
  );
}

/** The address and body of a request that waits for its answer. */
function toShellRequest(
  url: string,
  agent: string,
  operation: string,
  input: Json,
  runId: string | undefined,
): Pick<ShellRequest, "method" | "url" | "body"> {
  const body = toBody(operation, input);
  const text = JSON.stringify(runId === undefined ? body : { ...body, run_id: runId });
  return {
    method: "POST",
    url: `${url}/${agent}/process?wait=completed`,
    body: { type: "application/json", text },
  };
}

/** A request as a program with the client. */
function toTypeScript(url: string, agent: string, operation: string, input: Json): string {
  return [
    `import { createClient } from "troupe/client";`,
    ``,
    `const client = createClient(${JSON.stringify(url)});`,
    `const call = client.agent(${JSON.stringify(agent)}).${toCall(operation, input)};`,
    `for await (const event of call) console.log(event);`,
    `console.log(await call);`,
    ``,
  ].join("\n");
}

function toCall(operation: string, input: Json): string {
  return operation === "chat" && typeof input === "string"
    ? `chat(${JSON.stringify(input)})`
    : `call(${JSON.stringify(operation)}, ${JSON.stringify(input)})`;
}

function toBody(operation: string, input: Json): JsonObject {
  return operation === "chat" && typeof input === "string"
    ? { type: "ChatRequest", input }
    : { type: "OperationRequest", operation, input };
}
