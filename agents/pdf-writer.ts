import { defineAgent } from "troupe";

/** Creates a PDF from a title and a text. */
export const pdfWriter = defineAgent({
  name: "pdf-writer",
  purpose: "Creates a PDF from a title and a text.",

  async chat(input, turn) {
    const [, title, text] = /^\s*([^:\s][^:\n]{0,99}):\s*(\S.*)$/s.exec(input) ?? [];
    if (title === undefined || text === undefined) {
      await turn.text('Give me a title and a text, as in "Moon: it is far away".');
      return;
    }
    const { name } = await turn.artifact({
      name: `${title.trimEnd()}.pdf`,
      mimeType: "application/pdf",
      data: await toPdf(title, text),
    });
    await turn.text(name);
  },
});

/** Creates the document. It contains no date, so the same input gives the same bytes. */
async function toPdf(title: string, text: string): Promise<Uint8Array> {
  // Loaded with the first document: its many modules would slow down every start of the server.
  const { PDFDocument, PageSizes, StandardFonts, breakTextIntoLines } = await import("pdf-lib");
  const document = await PDFDocument.create({ updateMetadata: false });
  document.setTitle(title);
  const font = await document.embedFont(StandardFonts.Helvetica);
  const letters = new Set(font.getCharacterSet().map((code) => String.fromCodePoint(code)));
  const [width, height] = PageSizes.A4;
  const margin = 72;

  let page = document.addPage(PageSizes.A4);
  let y = height - margin;
  const write = (words: string, size: number) => {
    const prose = words.replace(/[^\S\n]+/g, " ");
    const known = Array.from(prose, (char) => (char === "\n" || letters.has(char) ? char : "?")).join("");
    // No letter is wider than its height, so this many always fit on a line; a longer word is split.
    const longest = Math.floor((width - 2 * margin) / size);
    const broken = known.replace(new RegExp(`\\S{${longest}}(?=\\S)`, "g"), "$& ");
    const widthOf = (part: string) => font.widthOfTextAtSize(part, size);
    for (const line of breakTextIntoLines(broken, [" "], width - 2 * margin, widthOf)) {
      if (y < margin) {
        page = document.addPage(PageSizes.A4);
        y = height - margin;
      }
      page.drawText(line, { x: margin, y, size, font });
      y -= size * 1.5;
    }
  };
  write(title, 20);
  write(text, 12);
  return document.save();
}
