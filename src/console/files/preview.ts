import type { FileView } from "../../view/run-view.ts";

/** How a file is previewed: as text, or as an image of this type. */
export type Preview = "text" | "image/png" | "image/jpeg" | "image/gif" | "image/webp";

/** The preview of a file; `undefined` if it can only be downloaded. SVG and HTML are shown as their source. */
export function previewOf({
  mimeType,
  sizeBytes,
}: Pick<FileView, "mimeType" | "sizeBytes">): Preview | undefined {
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
