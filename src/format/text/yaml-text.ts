// Prints plain JSON as YAML, as a person would write it.

import { Document, isMap, isSeq, visit } from 'yaml'
import type { JsonObject } from '../../domain/json.ts'

/** `layOut` may change the document before it is printed, for instance with `spaceItems`. */
export function yamlText(value: JsonObject, layOut: (document: Document) => void = () => {}): string {
  const document = new Document(value, { version: '1.2', schema: 'core', aliasDuplicateObjects: false })
  layOut(document)
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value === 'string' && !needsNoQuotes(node.value)) node.type = 'QUOTE_DOUBLE'
    },
  })
  return document.toString({ lineWidth: 0, minContentWidth: 0, indentSeq: true, doubleQuotedAsJSON: true })
}

/** A blank line between the maps of a list. */
export function spaceItems(list: unknown): void {
  if (!isSeq(list)) return
  for (const [index, item] of list.items.entries()) if (index > 0 && isMap(item)) item.spaceBefore = true
}

/** Can be a plain or block scalar: no invisible characters, and no blanks that YAML would drop or misread. */
function needsNoQuotes(text: string): boolean {
  return !/[^\P{C}\n]|\p{Zl}|\p{Zp}|^\s|[ \t]$|[ \t]\n|\n\n$/u.test(text)
}
