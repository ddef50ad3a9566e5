// The canonical text of a plan: what is shown of a plan, and what a new file is written with. Reading it back gives the
// same definition.

import { Document, isMap, isSeq, visit } from 'yaml'
import type { PlanDefinition } from '../../domain/plan.ts'
import { raisePlan } from './definition-to-document.ts'
import { escaped } from './expression-checks.ts'

export function printYaml(plan: PlanDefinition): string {
  const document = new Document(escaped(raisePlan(plan)), {
    version: '1.2',
    schema: 'core',
    aliasDuplicateObjects: false,
  })
  spaceOut(document)
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value === 'string' && !isTame(node.value)) node.type = 'QUOTE_DOUBLE'
    },
  })
  return document.toString({ lineWidth: 0, minContentWidth: 0, indentSeq: true, doubleQuotedAsJSON: true })
}

export function printJson(plan: PlanDefinition): string {
  return `${JSON.stringify(escaped(raisePlan(plan)), null, 2)}\n`
}

/** A blank line before `tasks` and between the tasks, as people write them. */
function spaceOut(document: Document): void {
  if (!isMap(document.contents)) return
  const pair = document.contents.items.at(-1)
  if (pair === undefined || !isSeq(pair.value)) return
  const key = document.createNode('tasks')
  key.spaceBefore = true
  pair.key = key
  for (const [index, task] of pair.value.items.entries()) if (index > 0 && isMap(task)) task.spaceBefore = true
}

/** May stand as plain text or as a block: no invisible characters, and no blanks where YAML would lose or misread them. */
function isTame(text: string): boolean {
  return !/[^\P{C}\n]|\p{Zl}|\p{Zp}|^\s|[ \t]$|[ \t]\n|\n\n$/u.test(text)
}
