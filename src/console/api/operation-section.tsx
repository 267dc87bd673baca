import { Fragment } from "preact";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { toAgentError } from "../../errors.ts";
import type { Fields } from "../../protocol/json.ts";
import { useConsole } from "../app/context.ts";
import { parseJson } from "../../protocol/json.ts";
import { ActButton } from "../parts/act-button.tsx";
import { Copy } from "../parts/copy.tsx";
import { toCurl } from "../parts/curl.ts";
import type { ShellBody } from "../parts/curl.ts";
import { exampleOf } from "./example.ts";
import { resolveSchema } from "./operations.ts";
import type { ApiOperation, ApiParameter, ApiContent } from "./operations.ts";
import { missingIn, toApiRequest } from "./request.ts";
import { SchemaLinks } from "./schema-part.tsx";
import { sendRequest } from "./send.ts";
import type { ApiReply, ApiBody } from "./send.ts";
import { JsonTree } from "../json/json-tree.tsx";
import { sizeText } from "../parts/size.ts";
import { State } from "../parts/state.tsx";
import { duration } from "../parts/time.ts";

interface OperationPartProps {
  readonly operation: ApiOperation;
  readonly schemas: Fields;
  /** The names of the agents. */
  readonly agents: readonly string[];
}

/** One method of a route: what it does, a form to try it, and its answer. */
export function OperationSection({ operation, schemas, agents }: OperationPartProps): VNode {
  const { server } = useConsole();
  const { method, path, summary, description, parameters, body, isOfAgent, answers } = operation;
  const [agent, setAgent] = useState("");
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [text, setText] = useState(() =>
    body?.schema === undefined ? "" : JSON.stringify(exampleOf(body.schema, schemas), null, 2),
  );
  const [file, setFile] = useState<File>();
  const [fault, setFault] = useState<string>();
  const [reply, setReply] = useState<ApiReply>();
  const sending = useRef<AbortController>(null);
  const [isSending, setSending] = useState(false);
  // A request ends with the page that shows it: a stream would hold one of the connections of the browser.
  useEffect(() => () => sending.current?.abort(), []);

  const request = toApiRequest(operation, { agent, values });
  const isStream = values["stream"] === "true" || path === "/stream_request";

  const send = async (): Promise<void> => {
    const [missing] = missingIn(operation, { agent, values });
    if (missing !== undefined) return setFault(`${missing} is required.`);
    if (body?.schema !== undefined && parseJson(text) === undefined) return setFault("The body is not JSON.");
    if (body !== undefined && body.schema === undefined && file === undefined)
      return setFault("Choose a file.");
    const stop = new AbortController();
    sending.current = stop;
    setFault(undefined);
    setReply(undefined);
    setSending(true);
    try {
      await sendRequest(server, request, toBody(body, text, file), {
        signal: stop.signal,
        onReply: setReply,
      });
    } catch (thrown) {
      if (!stop.signal.aborted) setFault(toAgentError(thrown).message);
    }
    setSending(false);
    return undefined;
  };

  const optional = parameters.filter(({ isRequired }) => !isRequired);
  const toField = (parameter: ApiParameter): VNode => (
    <ParameterField
      key={parameter.name}
      parameter={parameter}
      value={values[parameter.name] ?? ""}
      onValue={(value) => setValues((before) => ({ ...before, [parameter.name]: value }))}
    />
  );

  return (
    <section class="form" aria-label={`${method} ${path}`}>
      <div class="actions">
        <h2 class="mono-title">
          {method} {path}
        </h2>
      </div>
      <p>{summary}</p>
      {description !== "" && <p class="second">{description}</p>}
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        {isOfAgent && (
          <div class="field">
            <label for="api-agent">Agent</label>
            <select
              id="api-agent"
              class="input"
              value={agent}
              onChange={({ currentTarget }) => setAgent(currentTarget.value)}
            >
              <option value="">none: at the root</option>
              {agents.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </div>
        )}
        {parameters.filter(({ isRequired }) => isRequired).map(toField)}
        {body && <BodyField content={body} schemas={schemas} text={text} onText={setText} onFile={setFile} />}
        {optional.length > 0 && (
          <details>
            <summary class="second">
              {optional.length === 1 ? "1 more parameter" : `${optional.length} more parameters`}
            </summary>
            <div class="api-fields">{optional.map(toField)}</div>
          </details>
        )}
        {fault !== undefined && (
          <p class="fault" role="alert">
            {fault}
          </p>
        )}
        <div class="actions">
          <ActButton class="button primary" disabled={isSending}>
            Send
          </ActButton>
          {isSending && (
            <ActButton class="button" onAct={() => sending.current?.abort()}>
              End
            </ActButton>
          )}
          <Copy
            label="copy as curl"
            name="the request as curl"
            text={toCurl({
              method,
              url: `${server.url}${request.path}`,
              headers: request.headers,
              body: toShellBody(body, text, file),
              isStream,
              hasToken: server.token !== undefined,
            })}
          />
        </div>
      </form>
      {reply && <ReplyPart reply={reply} />}
      <h3>Answers</h3>
      <dl class="facts">
        {answers.map(({ status, description: meaning, content }) => (
          <Fragment key={status}>
            <dt>{status}</dt>
            <dd>
              {meaning} <SchemaLinks names={namesOf(content?.schema, schemas)} />
            </dd>
          </Fragment>
        ))}
        <dt>4xx, 5xx</dt>
        <dd>
          A refusal. <SchemaLinks names={["Problem"]} />
        </dd>
      </dl>
    </section>
  );
}

/** The name of a schema, or of those that it is made of. */
function namesOf(schema: unknown, schemas: Fields): readonly string[] {
  const { name, schema: found } = resolveSchema(schema, schemas);
  if (name !== undefined) return [name];
  const { items, anyOf } = (found ?? {}) as { readonly items?: unknown; readonly anyOf?: readonly unknown[] };
  return [items, ...(anyOf ?? [])].filter(Boolean).flatMap((part) => namesOf(part, schemas));
}

/** The body of a request: the JSON text, or the file that was chosen. */
function toBody(content: ApiOperation["body"], text: string, file: File | undefined): ApiBody {
  if (content === undefined) return undefined;
  if (content.schema !== undefined) return { type: "application/json", content: text };
  return file && { type: typeOf(file), content: file };
}

/** The same for a command in a shell. */
function toShellBody(
  content: ApiOperation["body"],
  text: string,
  file: File | undefined,
): ShellBody | undefined {
  if (content === undefined) return undefined;
  if (content.schema !== undefined) return { type: "application/json", text: toLine(text) };
  return { type: typeOf(file), file: file?.name ?? "FILE" };
}

function typeOf(file: File | undefined): string {
  return file === undefined || file.type === "" ? "application/octet-stream" : file.type;
}

/** A JSON text on one line; a text that is no JSON stays as it is. */
function toLine(text: string): string {
  const value = parseJson(text);
  return value === undefined ? text : JSON.stringify(value);
}

interface ParameterFieldProps {
  readonly parameter: ApiParameter;
  readonly value: string;
  onValue(value: string): void;
}

/** A parameter of a route. An empty one is not sent. */
function ParameterField({ parameter, value, onValue }: ParameterFieldProps): VNode {
  const { name, description, isRequired, choices } = parameter;
  const id = `api-${name}`;
  return (
    <div class="field">
      <label for={id}>
        <code>{name}</code>
        <span class="hint">{isRequired ? "required" : parameter.in === "header" ? "header" : ""}</span>
      </label>
      {choices === undefined ? (
        <input
          id={id}
          class="input mono"
          dir="auto"
          autocomplete="off"
          value={value}
          onInput={({ currentTarget }) => onValue(currentTarget.value)}
        />
      ) : (
        <select
          id={id}
          class="input"
          value={value}
          onChange={({ currentTarget }) => onValue(currentTarget.value)}
        >
          <option value="">not sent</option>
          {choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      )}
      {description !== "" && <p class="hint">{description}</p>}
    </div>
  );
}

interface BodyFieldProps {
  readonly content: ApiContent;
  readonly schemas: Fields;
  readonly text: string;
  onText(text: string): void;
  onFile(file: File | undefined): void;
}

/** The body of a request: JSON, or a file. */
function BodyField({ content, schemas, text, onText, onFile }: BodyFieldProps): VNode {
  const { name } = resolveSchema(content.schema, schemas);
  return (
    <div class="field">
      <label for="api-body">
        Body
        {name !== undefined && (
          <span class="hint">
            <SchemaLinks names={[name]} />
          </span>
        )}
      </label>
      {content.schema === undefined ? (
        <input id="api-body" type="file" onChange={({ currentTarget }) => onFile(currentTarget.files?.[0])} />
      ) : (
        <textarea
          id="api-body"
          class="input mono"
          rows={6}
          spellcheck={false}
          value={text}
          onInput={({ currentTarget }) => onText(currentTarget.value)}
        />
      )}
    </div>
  );
}

/** The answer to a request that was tried. */
function ReplyPart({ reply }: { readonly reply: ApiReply }): VNode {
  const { status, statusText, type, headers, text, bytes, isComplete, tookMs } = reply;
  const word = `${status} ${statusText}`.trim();
  return (
    <section class="api-reply" aria-label="Answer">
      <div class="actions">
        <State name={!isComplete ? "running" : status < 400 ? "done" : "failed"} word={word} />
        <span class="second number" role="status">
          {type === "" ? "no body" : type}, {sizeText(bytes)}, {duration(tookMs)}
        </span>
        {text !== undefined && text !== "" && <Copy text={text} name="the answer" />}
      </div>
      {headers.length > 0 && (
        <dl class="facts">
          {headers.map(([name, value]) => (
            <Fragment key={name}>
              <dt>{name}</dt>
              <dd>
                <code>{value}</code>
              </dd>
            </Fragment>
          ))}
        </dl>
      )}
      {text !== undefined && text !== "" && (
        <ReplyBody text={text} isJson={isComplete && /json/.test(type)} />
      )}
      {text === undefined && (
        <p class="second">The answer is a file. Files are shown and downloaded in its run.</p>
      )}
    </section>
  );
}

function ReplyBody({ text, isJson }: { readonly text: string; readonly isJson: boolean }): VNode {
  const value = isJson ? parseJson(text) : undefined;
  if (value !== undefined) return <JsonTree value={value} open={3} />;
  return (
    <pre class="code api-text" tabIndex={0} role="group" aria-label="Body" dir="auto">
      {text}
    </pre>
  );
}
