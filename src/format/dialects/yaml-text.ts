// Plain JSON as the YAML a person would write, for dialects that are written in it.

import { Document, isMap, isSeq, visit } from 'yaml'
import type { JsonObject } from '../../domain/json.ts'

/** `spaced` is the list whose items stand apart by a blank line. */
export function yamlText(value: JsonObject, spaced?: string): string {
  const document = new Document(value, { version: '1.2', schema: 'core', aliasDuplicateObjects: false })
  const list = spaced === undefined ? undefined : document.get(spaced)
  if (isSeq(list))
    for (const [index, item] of list.items.entries()) if (index > 0 && isMap(item)) item.spaceBefore = true
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value === 'string' && !isTame(node.value)) node.type = 'QUOTE_DOUBLE'
    },
  })
  return document.toString({ lineWidth: 0, minContentWidth: 0, indentSeq: true, doubleQuotedAsJSON: true })
}

/** May stand as plain text or as a block: no invisible characters, and no blanks where YAML would lose or misread them. */
function isTame(text: string): boolean {
  return !/[^\P{C}\n]|\p{Zl}|\p{Zp}|^\s|[ \t]$|[ \t]\n|\n\n$/u.test(text)
}
