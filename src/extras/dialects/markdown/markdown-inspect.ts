// `markdown-inspect`, how the TODO planner shows a plan: `## 1. [TODO] id`, the description, and `Acceptance Criteria:` as a numbered list.

import { isTaskName, type TaskName } from '../../../domain/id.ts'
import type { PlanDefinition } from '../../../domain/plan.ts'
import type { Dialect, StatusOf } from '../../../format/plan/dialect.ts'
import { printed } from '../export-loss.ts'
import { criterionLine } from '../planstore/plan-steps-words.ts'
import { markdownLines, mayBeMarkdown } from './markdown-lines.ts'
import {
  bodyLines,
  childLines,
  dependsLines,
  oneLine,
  page,
  planHeading,
  printHead,
  printTail,
  tasksOf,
} from './markdown-print.ts'
import { type Kind, readMarkdown } from './markdown-read.ts'

const STEP = /^(\d{1,9})\.[ \t]+\[([A-Za-z_ ]{1,20})\][ \t]+(.+)$/s

const KIND: Kind = {
  style: {
    headed: (text, level) => {
      const match = level === 2 ? STEP.exec(text) : null
      if (match === null) return null
      const id = match[3]!
      return { number: match[1]!, box: match[2]!.toUpperCase(), text: isTaskName(id) ? `\`${id}\`` : id }
    },
    sectioned: (_, level) => level <= 2,
    listed: () => false,
  },
  milestone: () => null,
  order: 'chain',
}

export const markdownInspect: Dialect = {
  name: 'markdown-inspect',
  about: 'Markdown: ## 1. [TODO] id, with acceptance criteria',
  recognises: source =>
    mayBeMarkdown(source) &&
    markdownLines(source).some(({ form }) => form.type === 'heading' && form.level === 2 && STEP.test(form.text)),
  read: source => readMarkdown(source, KIND),
  print: (definition, status) => printed(write(definition, status), definition, status, markdownInspect.read),
}

function write(definition: PlanDefinition, status: StatusOf): string {
  const tasks = tasksOf(definition)
  const numbers = tasks.map((_, index) => String(index + 1))
  const depends = dependsLines(tasks, null, numbers)
  const steps = tasks.flatMap((task, index) => {
    const now = status(task.id)
    const open = now === 'pending' || now === 'ready' || now === 'completed'
    const { accept, ...rest } = task
    const below = { depends: depends[index]!, named: false, milestone: true, status: open ? null : now }
    const criteria = (accept ?? []).map((one, at) => `${at + 1}. ${oneLine(criterionLine(one))}`)
    return [
      `## ${numbers[index]}. [${now === 'completed' ? 'DONE' : 'TODO'}] ${task.id}`,
      '',
      ...bodyLines(rest, below),
      ...(criteria.length === 0 ? [] : ['', 'Acceptance Criteria:', ...criteria]),
      ...childLines(task, task.id as TaskName, status),
      '',
    ]
  })
  return page([...printHead(definition, planHeading(definition)), ...steps, ...printTail(definition, new Set())])
}
