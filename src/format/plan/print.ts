// Prints a plan as canonical text. Parsing the text gives the same definition.

import { type Document, isMap, isSeq } from 'yaml'
import type { PlanDefinition } from '../../domain/plan.ts'
import { spaceItems, yamlText } from '../text/yaml-text.ts'
import { raisePlan } from './definition-to-document.ts'
import { escaped } from './expression-checks.ts'

export function printYaml(plan: PlanDefinition): string {
  return yamlText(escaped(raisePlan(plan)), spaceOut)
}

export function printJson(plan: PlanDefinition): string {
  return `${JSON.stringify(escaped(raisePlan(plan)), null, 2)}\n`
}

/** Adds blank lines before `tasks` and between tasks, as people write them. */
function spaceOut(document: Document): void {
  if (!isMap(document.contents)) return
  const pair = document.contents.items.at(-1)
  if (pair === undefined || !isSeq(pair.value)) return
  const key = document.createNode('tasks')
  key.spaceBefore = true
  pair.key = key
  spaceItems(pair.value)
}
