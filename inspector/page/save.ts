/**
 * What can be taken away from the page: a chart as SVG or PNG, a part of the history as a recording.
 *
 * Owns: making the files. Nothing leaves the browser but into the download folder of whoever looks.
 */
import type { Break } from "./judge.ts";
import type { History } from "./model.ts";
import { sliceOf } from "./slice.ts";

function download(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has taken hold of it by the next turn.
  setTimeout(() => URL.revokeObjectURL(url), 1_000);
}

const fileName = (title: string, ending: string): string => `${title.replace(/[^\w.-]+/g, "-")}.${ending}`;

/** Rules of the page's sheet that draw a chart, with the colours that hold now. */
function sheetText(): string {
  const colours = getComputedStyle(document.documentElement);
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
  return rules
    .filter((rule) => rule instanceof CSSStyleRule && /\.(state|arrow|dot|toggle)\b|^svg|#tip/.test(rule.selectorText))
    .map((rule) =>
      rule.cssText.replace(/var\((--[\w-]+)\)/g, (_whole, name: string) => colours.getPropertyValue(name).trim()),
    )
    .join("\n");
}

function standalone(
  drawn: SVGSVGElement,
  { width, height }: { readonly width: number; readonly height: number },
): string {
  const copy = drawn.cloneNode(true) as SVGSVGElement;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  copy.setAttribute("viewBox", `0 0 ${width} ${height}`);
  copy.querySelector(".moved")?.removeAttribute("transform");
  const style = document.createElementNS("http://www.w3.org/2000/svg", "style");
  const { fontFamily, backgroundColor } = getComputedStyle(drawn.parentElement ?? drawn);
  style.textContent = `svg { font: 12px ${fontFamily}; background: ${backgroundColor}; }\n${sheetText()}`;
  copy.prepend(style);
  return new XMLSerializer().serializeToString(copy);
}

export interface Saved {
  readonly title: string;
  readonly width: number;
  readonly height: number;
}

export function saveSvg(drawn: SVGSVGElement, about: Saved): void {
  download(fileName(about.title, "svg"), new Blob([standalone(drawn, about)], { type: "image/svg+xml" }));
}

/** In twice the size, so that it can be read when it is printed. */
export async function savePng(drawn: SVGSVGElement, about: Saved): Promise<void> {
  const url = URL.createObjectURL(new Blob([standalone(drawn, about)], { type: "image/svg+xml" }));
  const image = new Image();
  image.src = url;
  await image.decode();
  URL.revokeObjectURL(url);
  // Browsers draw no canvas beyond about 16,000 pixels a side.
  const scale = Math.min(2, 16_000 / Math.max(about.width, about.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(about.width * scale);
  canvas.height = Math.ceil(about.height * scale);
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  const content = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
  if (content !== null) download(fileName(about.title, "png"), content);
}

export function saveSlice(history: History, it: Break): void {
  const content = new Blob([sliceOf(history, it)], { type: "application/x-ndjson" });
  download(fileName(it.name, "ndjson"), content);
}
