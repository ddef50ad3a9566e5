// The door of dialects: every one there is, in the order in which they are asked. The narrow ones come first: the first that recognises a text
// reads it. The canonical format is not among them; it is what remains.

import type { Dialect } from '../../format/plan/dialect.ts'
import { backlogMd } from './backlogs/backlog-md.ts'
import { beads } from './backlogs/beads.ts'
import { specKit } from './backlogs/spec-kit.ts'
import { taskMaster } from './backlogs/task-master.ts'
import { markdownChecklist } from './markdown/markdown-checklist.ts'
import { markdownInspect } from './markdown/markdown-inspect.ts'
import { markdownPhases } from './markdown/markdown-phases.ts'
import { markdownSteps } from './markdown/markdown-steps.ts'
import { todoPlan } from './markdown/todo-plan.ts'
import { planRecord } from './planstore/plan-record.ts'
import { planSteps } from './planstore/plan-steps.ts'
import { stepList } from './planstore/step-list.ts'
import { taskTables } from './planstore/task-tables.ts'
import { planDsl } from './playbook/plan-dsl.ts'
import { planNodes } from './playbook/plan-nodes.ts'
import { planSketch } from './playbook/plan-sketch.ts'
import { taskYaml } from './playbook/task-yaml.ts'

export { isOnlyQuoted, whyUnrecognised } from './unknown-format.ts'

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
