import { Fragment } from "preact";
import type { VNode } from "preact";
import { parseJson } from "../forms/draft.ts";
import { Copy } from "../parts/copy.tsx";
import { JsonTree } from "../json/json-tree.tsx";
import { sizeText } from "../parts/size.ts";
import { State } from "../parts/state.tsx";
import { duration } from "../parts/time.ts";
import type { ApiReply } from "./send.ts";

/** The answer to a request that was tried. */
export function ReplyPart({ reply }: { readonly reply: ApiReply }): VNode {
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
