// Every dialect there is, in the order in which they are asked. The narrow ones come first: the first that recognises a text
// reads it. The canonical format is not among them; it is what remains.

import { backlogMd } from './backlog-md.ts'
import { beads } from './beads.ts'
import type { Dialect } from './dialect.ts'
import { markdownChecklist } from './markdown-checklist.ts'
import { markdownInspect } from './markdown-inspect.ts'
import { markdownPhases } from './markdown-phases.ts'
import { markdownSteps } from './markdown-steps.ts'
import { planDsl } from './plan-dsl.ts'
import { planNodes } from './plan-nodes.ts'
import { planRecord } from './plan-record.ts'
import { planSketch } from './plan-sketch.ts'
import { planSteps } from './plan-steps.ts'
import { specKit } from './spec-kit.ts'
import { stepList } from './step-list.ts'
import { taskMaster } from './task-master.ts'
import { taskTables } from './task-tables.ts'
import { taskYaml } from './task-yaml.ts'
import { todoPlan } from './todo-plan.ts'

export const DIALECTS: readonly Dialect[] = [
  backlogMd,
  beads,
  specKit,
  taskTables,
  taskMaster,
  planDsl,
  planNodes,
  planSketch,
  taskYaml,
  planRecord,
  stepList,
  todoPlan,
  planSteps,
  markdownInspect,
  markdownPhases,
  markdownSteps,
  markdownChecklist,
]

export function dialectNamed(name: string): Dialect | null {
  return DIALECTS.find(dialect => dialect.name === name) ?? null
}
