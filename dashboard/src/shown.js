// Text from outside is shown whole: characters that hide, or turn the text around them, are written out as escapes. An approver
// must not be shown a file name that reads backwards, or a description with a second one between its letters.
import { options } from "preact";

// The set of `src/gristmill/catalog/text.py`, and line ends that only some programs take for one. A test holds the two together.
const HIDDEN = [
  "\\0-\\x08\\x0b-\\x0c\\x0e-\\x1f\\x7f-\\x9f", // controls but tab and line ends
  "\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f", // soft hyphen, joiners, fillers
  "\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f", // zero width, line separators, marks, overrides and isolates of direction
  "\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\uffff", // fillers, variation selectors, byte order mark, noncharacters
  "\\ud800-\\udfff\\ue000-\\uf8ff", // halves of characters, private use
  "\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}", // controls of shorthand and of music
  "\\u{e0000}-\\u{e0fff}\\u{f0000}-\\u{10ffff}", // tags, more selectors, private planes
].join("");
// Ordinary emoji stay as they are: those of Unicode's own list, joiners and selectors included, and one selector after a picture, which
// says how that is drawn and can say nothing else. What only looks like one has its signs written out.
const EMOJI = "\\p{RGI_Emoji}(?![\\ufe00-\\ufe0f])|(?<=\\p{Extended_Pictographic})[\\ufe0e\\ufe0f](?![\\ufe00-\\ufe0f])";
const SIGN = `\\r(?!\\n)|[${HIDDEN}]`;
const WITHIN = new RegExp(`(${EMOJI})|${SIGN}`, "gv");
// The list is long: it is looked at only where pictures, or digits that could be keycaps, stand together.
const FOUND = new RegExp(`([\\p{Emoji}\\p{Emoji_Component}\\ufe0e]{2,})|${SIGN}`, "gu");

const written = (sign, harmless) => harmless ?? `\\u{${sign.codePointAt(0).toString(16)}}`;
const isPlain = (text) => /^[ -~]*$/.test(text);

export const seen = (text) =>
  text.replace(FOUND, (sign, group) => {
    if (group === undefined) return written(sign);
    return isPlain(group) ? group : group.replace(WITHIN, written);
  });

const shown = (child) => (typeof child === "string" ? seen(child) : Array.isArray(child) ? child.map(shown) : child);

const SAID = ["title", "aria-label"]; // attributes that are read, too
const before = options.vnode;

options.vnode = (vnode) => {
  // Only of elements: what goes to a component comes out of it again as an element's.
  if (typeof vnode.type === "string") {
    const { props } = vnode;
    if (props.children !== undefined) props.children = shown(props.children);
    for (const name of SAID) if (typeof props[name] === "string") props[name] = seen(props[name]);
  }
  before?.(vnode);
};
