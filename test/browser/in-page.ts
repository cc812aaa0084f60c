/**
 * What is looked at inside the page: what is outside, covered or cut, and which text is hard to read.
 *
 * Owns: functions that run in the browser; each must be complete in itself, for only its own source gets there.
 */

/** Faults of the layout, in words. `important` are selectors of what must be wholly on the screen and uncovered. */
export function layoutFaults(important: readonly string[]): string[] {
  const faults: string[] = [];
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) faults.push(`the page is ${root.scrollWidth} px wide in ${innerWidth}`);
  const nameOf = (element: Element): string =>
    `${element.tagName.toLowerCase()}${element.id === "" ? "" : `#${element.id}`}.${element.classList.value}`;

  for (const element of document.body.querySelectorAll<HTMLElement>("*")) {
    if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    // What scrolls sideways on purpose may be wider than its part; whether the part itself fits is looked at.
    if (element.closest(".visually-hidden, .skip, svg, .scrolls *, nav *") !== null) continue;
    const { left, right, width } = element.getBoundingClientRect();
    if (width > 0 && (left < -0.5 || right > innerWidth + 0.5))
      faults.push(`${nameOf(element)} goes from ${left.toFixed(0)} to ${right.toFixed(0)} px`);
    const region = element.parentElement?.closest(".side, .chat, .calls, dialog")?.getBoundingClientRect();
    if (region !== undefined && getComputedStyle(element).position !== "fixed" && width > 0) {
      if (left < region.left - 0.5 || right > region.right + 0.5)
        faults.push(`${nameOf(element)} sticks out of its part`);
    }
    const { overflowX } = getComputedStyle(element);
    const isMeantToCut =
      getComputedStyle(element).textOverflow === "ellipsis" ||
      overflowX === "visible" ||
      element.matches(".scrolls, nav");
    if (!isMeantToCut && element.scrollWidth > element.clientWidth + 1)
      faults.push(`${nameOf(element)} scrolls sideways`);
    if (element.tagName === "BUTTON" && element.scrollWidth > element.clientWidth + 1)
      faults.push(`${nameOf(element)} is cut`);
  }

  for (const selector of important) {
    const found = document.querySelector(selector);
    if (found?.checkVisibility({ visibilityProperty: true, opacityProperty: true }) !== true) {
      faults.push(`${selector} is not shown`);
      continue;
    }
    const box = found.getBoundingClientRect();
    if (box.left < 0 || box.top < 0 || box.right > innerWidth || box.bottom > innerHeight)
      faults.push(`${selector} is outside: ${JSON.stringify(box)}`);
    for (const [x, y] of [
      [0.5, 0.5],
      [0.2, 0.3],
      [0.8, 0.7],
    ] as const) {
      const top = document.elementFromPoint(box.left + box.width * x, box.top + box.height * y);
      if (top === null || (!found.contains(top) && !top.contains(found)))
        faults.push(`${selector} is covered by ${top === null ? "nothing" : nameOf(top)}`);
    }
  }
  return faults;
}

/** Texts whose contrast with their ground is below WCAG AA, and how many texts were measured. */
export function contrastFaults(): { readonly measured: number; readonly faults: string[] } {
  type Colour = readonly [number, number, number, number];
  const parse = (css: string): Colour => {
    const [r = 0, g = 0, b = 0, a = 1] = (css.match(/[\d.]+/g) ?? []).map(Number);
    if (!css.startsWith("rgb")) throw new Error(`a colour in another form: ${css}`);
    return [r, g, b, a];
  };
  const over = (upper: Colour, lower: Colour): Colour => {
    const mix = (at: 0 | 1 | 2): number => upper[at] * upper[3] + lower[at] * (1 - upper[3]);
    return [mix(0), mix(1), mix(2), 1];
  };
  const luminance = (colour: Colour): number => {
    const linear = (at: 0 | 1 | 2): number => {
      const share = colour[at] / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    };
    return 0.2126 * linear(0) + 0.7152 * linear(1) + 0.0722 * linear(2);
  };
  const ancestors = (element: Element): Element[] => {
    const list: Element[] = [];
    for (let each: Element | null = element; each !== null; each = each.parentElement) list.push(each);
    return list;
  };
  const groundOf = (element: Element): Colour => {
    const layers = ancestors(element).map((each) => parse(getComputedStyle(each).backgroundColor));
    return layers.reduceRight<Colour>((ground, layer) => over(layer, ground), [255, 255, 255, 1]);
  };
  const opacityOf = (element: Element): number =>
    ancestors(element).reduce((product, each) => product * Number(getComputedStyle(each).opacity), 1);

  const faults: string[] = [];
  let measured = 0;
  const measure = (element: Element, text: string, style: CSSStyleDeclaration): void => {
    const ground = groundOf(element);
    const [r, g, b, a] = parse(style.color);
    const ink = over([r, g, b, a * opacityOf(element)], ground);
    const [darker = 0, lighter = 0] = [luminance(ink), luminance(ground)].sort((x, y) => x - y);
    const ratio = (lighter + 0.05) / (darker + 0.05);
    const size = Number.parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    measured += 1;
    if (ratio < (isLarge ? 3 : 4.5)) faults.push(`“${text.slice(0, 40)}” (${element.className}): ${ratio.toFixed(2)}`);
  };

  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement;
    const text = (node.textContent ?? "").trim();
    if (element === null || text === "" || element.closest(".visually-hidden") !== null) continue;
    if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    measure(element, text, getComputedStyle(element));
  }
  for (const field of document.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>("input, textarea")) {
    if (field.placeholder !== "" && field.checkVisibility())
      measure(field, field.placeholder, getComputedStyle(field, "::placeholder"));
  }
  return { measured, faults };
}

/** Whether the element with the focus can be told by its outline. */
export function hasFocusRing(): boolean {
  const focused = document.activeElement;
  if (focused === null || focused === document.body) return false;
  const { outlineStyle, outlineWidth } = getComputedStyle(focused);
  return outlineStyle !== "none" && Number.parseFloat(outlineWidth) >= 2;
}

/** Texts of a drawn chart whose contrast with the shape behind them is below WCAG AA. */
export function chartContrastFaults(): { readonly measured: number; readonly faults: string[] } {
  const luminance = (css: string): number => {
    const linear = (css.match(/[\d.]+/g) ?? []).slice(0, 3).map((part) => {
      const share = Number(part) / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    const [red = 0, green = 0, blue = 0] = linear;
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const texts = [...document.querySelectorAll<SVGTextElement>(".drawing svg text")];
  const faults = texts.flatMap((text) => {
    const shape = text.parentElement?.querySelector(":scope > rect:not(.inside)");
    if (shape === null || shape === undefined) return [`${text.textContent} lies on nothing`];
    const [darker = 0, lighter = 0] = [text, shape]
      .map((each) => luminance(getComputedStyle(each).fill))
      .sort((x, y) => x - y);
    const ratio = (lighter + 0.05) / (darker + 0.05);
    return ratio < 4.5 ? [`“${text.textContent}” in the drawing: ${ratio.toFixed(2)}`] : [];
  });
  return { measured: texts.length, faults };
}

/** Texts of these elements of which a part is cut off, by the element itself or by the window's edge. */
export function cutTexts(selector: string): string[] {
  return [...document.querySelectorAll<HTMLElement>(selector)]
    .filter((element) => {
      const { left, right } = element.getBoundingClientRect();
      return element.scrollWidth > element.clientWidth || left < 0 || right > innerWidth;
    })
    .map((element) => element.textContent);
}
