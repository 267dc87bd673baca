import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { FileView } from "../../view/run-view.ts";
import { toAgentError } from "../../errors.ts";
import { useConsole } from "../app/context.ts";
import { FileLine } from "../chat/file-line.tsx";
import type { RunTabProps } from "../run/tab-props.ts";

/** The files of a run: preview and download. */
export function FilesTab({ view }: RunTabProps): VNode {
  const { files } = view;
  const [wanted, setWanted] = useState<string>();
  if (files.length === 0) return <p class="tab-note second">No file has been added or made.</p>;
  const chosen = files.find(({ artifactId }) => artifactId === wanted);
  return (
    <div class="files">
      <ul class="list" aria-label="Files">
        {files.map((file) => (
          <li key={file.eventId}>
            <FileLine file={file} agent={view.agent} />
            {previewOf(file) !== undefined && (
              <button
                type="button"
                class="button quiet small"
                aria-expanded={file === chosen}
                onClick={() => setWanted(file === chosen ? undefined : file.artifactId)}
              >
                {file === chosen ? "Close" : "Preview"}
              </button>
            )}
            {file === chosen && (
              <FilePreview key={file.artifactId} file={file} kind={previewOf(file) ?? "text"} />
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}

interface FilePreviewProps {
  readonly file: FileView;
  readonly kind: Preview;
}

/** An image, or a text. A file is never interpreted as a page. */
function FilePreview({ file, kind }: FilePreviewProps): VNode {
  const { server } = useConsole();
  const [shown, setShown] = useState<{
    readonly text?: string;
    readonly url?: string;
    readonly fault?: string;
  }>({});
  useEffect(() => {
    const stop = new AbortController();
    let url: string | undefined;
    const read = async (): Promise<void> => {
      const { response } = await server.wire.openFile(file.url, { signal: stop.signal });
      if (kind === "text") {
        const text = await response.text();
        if (!stop.signal.aborted) setShown({ text });
        return;
      }
      // The type is one of our list; the type that the server sends is not used.
      const bytes = new Blob([await response.arrayBuffer()], { type: kind });
      if (stop.signal.aborted) return;
      url = URL.createObjectURL(bytes);
      setShown({ url });
    };
    read().catch((thrown: unknown) => {
      if (!stop.signal.aborted) setShown({ fault: toAgentError(thrown).message });
    });
    return () => {
      stop.abort();
      if (url !== undefined) URL.revokeObjectURL(url);
    };
  }, [server, file.url, kind]);
  if (shown.fault !== undefined) return <p class="note failed">{shown.fault}</p>;
  if (shown.url !== undefined) return <img class="preview" src={shown.url} alt={file.name} />;
  return <pre class="code preview">{shown.text ?? ""}</pre>;
}

/** How a file is previewed: as text, or as an image of this type. */
type Preview = "text" | "image/png" | "image/jpeg" | "image/gif" | "image/webp";

/** The preview of a file; `undefined` if it can only be downloaded. SVG and HTML are shown as their source. */
function previewOf({ mimeType, sizeBytes }: Pick<FileView, "mimeType" | "sizeBytes">): Preview | undefined {
  const type = mimeType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const image = IMAGES.find((known) => known === type);
  if (image !== undefined) return image;
  const isText =
    type.startsWith("text/") || TEXTS.has(type) || type.endsWith("+json") || type.endsWith("+xml");
  return isText && sizeBytes <= TEXT_BYTES ? "text" : undefined;
}

const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;

const TEXTS: ReadonlySet<string> = new Set(["application/json", "application/xml", "application/yaml"]);

const TEXT_BYTES = 1_048_576;
