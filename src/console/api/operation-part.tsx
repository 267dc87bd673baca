import { Fragment } from "preact";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { toAgentError } from "../../errors.ts";
import type { Fields } from "../../protocol/json.ts";
import { useConsole } from "../app/context.ts";
import { parseJson } from "../forms/draft.ts";
import { ActButton } from "../parts/act-button.tsx";
import { Copy } from "../parts/copy.tsx";
import { toCurl } from "../parts/curl.ts";
import { toBody, toShellBody } from "./body.ts";
import { exampleOf } from "./example.ts";
import { BodyField, ParameterField } from "./fields.tsx";
import { resolveSchema } from "./operations.ts";
import type { ApiOperation, ApiParameter } from "./operations.ts";
import { ReplyPart } from "./reply-part.tsx";
import { missingIn, toRequest } from "./request.ts";
import { SchemaLinks } from "./schema-part.tsx";
import { sendRequest } from "./send.ts";
import type { ApiReply } from "./send.ts";

interface OperationPartProps {
  readonly operation: ApiOperation;
  readonly schemas: Fields;
  /** The names of the agents. */
  readonly agents: readonly string[];
}

/** One method of a route: what it does, a form to try it, and its answer. */
export function OperationPart({ operation, schemas, agents }: OperationPartProps): VNode {
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

  const request = toRequest(operation, { agent, values });
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
