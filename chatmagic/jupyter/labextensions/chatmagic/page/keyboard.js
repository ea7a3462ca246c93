// Which keys belong to the panel, and which to the front end around it.

/**
 * Whether a key is a shortcut for the front end: none that types, edits, moves or runs a cell.
 * @param {KeyboardEvent} event
 */
export function isForFrontEnd(event) {
  if (/^F\d+$/.test(event.key)) return true;
  if (event.key.length > 1 || event.getModifierState("AltGraph")) return false;
  const edits = event.shiftKey ? "vz" : "acvxyz";
  if (event.ctrlKey || event.metaKey) return !edits.includes(event.key.toLowerCase());
  // On a Mac, Option types.
  return event.altKey && !navigator.platform.startsWith("Mac");
}
