// A template as YAML, laid out as people write it.

import { Document, isMap, isSeq, type Node, visit, type YAMLMap } from 'yaml'
import type { JsonObject } from '../../domain/json.ts'

export function printTemplate(template: JsonObject): string {
  const document = new Document(template, { version: '1.2', schema: 'core', aliasDuplicateObjects: false })
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value === 'string' && !isTame(node.value)) node.type = 'QUOTE_DOUBLE'
    },
  })
  spaceBefore(document.contents, 'parameters')
  spaceBefore(document.contents, 'plan')
  const tasks = inside(inside(document.contents, 'plan'), 'tasks')
  if (isSeq(tasks))
    for (const [index, task] of tasks.items.entries()) if (index > 0 && isMap(task)) task.spaceBefore = true
  return document.toString({ lineWidth: 0, minContentWidth: 0, indentSeq: true, doubleQuotedAsJSON: true })
}

function spaceBefore(map: unknown, name: string): void {
  if (!isMap(map)) return
  const pair = (map as YAMLMap<Node, Node>).items.find(({ key }) => String(key) === name)
  if (pair !== undefined) pair.key.spaceBefore = true
}

function inside(map: unknown, key: string): unknown {
  return isMap(map) ? map.get(key, true) : undefined
}

/** May stand as plain text or as a block: no invisible characters, and no blanks where YAML would lose or misread them. */
function isTame(text: string): boolean {
  return !/[^\P{C}\n]|\p{Zl}|\p{Zp}|^\s|[ \t]$|[ \t]\n|\n\n$/u.test(text)
}
