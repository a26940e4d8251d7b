/** Brings the document in line with a description, touching only what differs. */
import type { PageNode } from "./node";

const SVG = "http://www.w3.org/2000/svg";

/** What each element was last described as. */
const described = new WeakMap<Node, PageNode>();

function create(node: PageNode | string, parent: Element): Node {
  if (typeof node === "string") return document.createTextNode(node);
  const inSvg = parent.namespaceURI === SVG && parent.localName !== "foreignObject";
  const element =
    node.tag === "svg" || inSvg ? document.createElementNS(SVG, node.tag) : document.createElement(node.tag);
  update(element, node);
  return element;
}

/** One listener per element and event type; it calls whatever the newest description says. */
function dispatch(this: Element, event: Event): void {
  described.get(this)?.on?.[event.type]?.(event);
}

function update(element: Element, next: PageNode): void {
  const before = described.get(element);
  described.set(element, next);
  const oldAttrs = before?.attrs ?? {};
  const attrs = next.attrs ?? {};
  for (const name of Object.keys(oldAttrs)) if (!(name in attrs)) element.removeAttribute(name);
  for (const [name, value] of Object.entries(attrs)) {
    if (before !== undefined && oldAttrs[name] === value) continue;
    if (value === false || value === undefined) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  const style = (element as HTMLElement).style;
  for (const name of Object.keys(before?.style ?? {})) if (!(name in (next.style ?? {}))) style.removeProperty(name);
  for (const [name, value] of Object.entries(next.style ?? {})) {
    if (before?.style?.[name] !== value) style.setProperty(name, value);
  }
  for (const type of Object.keys(next.on ?? {})) {
    if (before?.on?.[type] === undefined) element.addEventListener(type, dispatch);
  }
  patchChildren(element, next.children);
  // After the children, so that a select finds its options.
  for (const [name, value] of Object.entries(next.set ?? {})) {
    const target = element as unknown as Record<string, unknown>;
    const typing = name === "value" && document.activeElement === element && element.localName === "input";
    if (!typing && target[name] !== value) target[name] = value;
  }
}

function matches(existing: Node, node: PageNode | string): boolean {
  if (typeof node === "string") return existing.nodeType === Node.TEXT_NODE;
  const last = described.get(existing);
  return last !== undefined && last.tag === node.tag && last.key === node.key;
}

/** The child that each node goes on with; null where none is left of its tag and key. */
function reused(parent: Element, nodes: readonly (PageNode | string)[]): (ChildNode | null)[] {
  const free = new Set(parent.childNodes);
  return nodes.map((node) => {
    for (const child of free) {
      if (!matches(child, node)) continue;
      free.delete(child);
      return child;
    }
    return null;
  });
}

/**
 * Makes the children of `parent` equal to `nodes`, reusing elements of the same tag and key. What is no longer wanted goes first, as
 * an element that is moved loses the focus: only what changes places with another is moved, and has the focus again afterwards.
 */
export function patchChildren(parent: Element, nodes: readonly (PageNode | string)[]): void {
  const found = reused(parent, nodes);
  const kept = new Set(found);
  for (const child of [...parent.childNodes]) if (!kept.has(child)) child.remove();
  const focused = document.activeElement;
  let current: ChildNode | null = parent.firstChild;
  for (const [at, node] of nodes.entries()) {
    const child = found[at] ?? null;
    if (child === null) {
      parent.insertBefore(create(node, parent), current);
      continue;
    }
    if (child === current) current = current.nextSibling;
    else parent.insertBefore(child, current);
    if (typeof node === "string") {
      if (child.nodeValue !== node) child.nodeValue = node;
    } else update(child as unknown as Element, node);
  }
  if (focused !== document.activeElement && focused instanceof HTMLElement && parent.contains(focused)) {
    focused.focus({ preventScroll: true });
  }
}
