// Plain JSON as the YAML a person would write.

import { Document, isMap, isSeq, visit } from 'yaml'
import type { JsonObject } from '../../domain/json.ts'

/** `layOut` puts blank lines where people would. */
export function yamlText(value: JsonObject, layOut: (document: Document) => void = () => {}): string {
  const document = new Document(value, { version: '1.2', schema: 'core', aliasDuplicateObjects: false })
  layOut(document)
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value === 'string' && !isTame(node.value)) node.type = 'QUOTE_DOUBLE'
    },
  })
  return document.toString({ lineWidth: 0, minContentWidth: 0, indentSeq: true, doubleQuotedAsJSON: true })
}

/** A blank line between the items of a list. */
export function spaceItems(list: unknown): void {
  if (!isSeq(list)) return
  for (const [index, item] of list.items.entries()) if (index > 0 && isMap(item)) item.spaceBefore = true
}

/** May stand as plain text or as a block: no invisible characters, and no blanks where YAML would lose or misread them. */
function isTame(text: string): boolean {
  return !/[^\P{C}\n]|\p{Zl}|\p{Zp}|^\s|[ \t]$|[ \t]\n|\n\n$/u.test(text)
}
