// Text from outside is shown whole: characters that hide, or turn the text around them, are written out as escapes. An approver
// must not be shown a file name that reads backwards, or a description with a second one between its letters.
import { options } from "preact";

// Controls but tab and line ends; soft hyphen; marks, overrides and isolates of direction; zero-width and tag characters.
const HIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;

const escaped = (sign) => `\\u{${sign.codePointAt(0).toString(16)}}`;

export const seen = (text) => text.replace(HIDDEN, escaped);

const shown = (child) => (typeof child === "string" ? seen(child) : Array.isArray(child) ? child.map(shown) : child);

const before = options.vnode;

options.vnode = (vnode) => {
  // Only of elements: what goes to a component comes out of it again as an element's.
  if (typeof vnode.type === "string" && vnode.props.children !== undefined) vnode.props.children = shown(vnode.props.children);
  before?.(vnode);
};
