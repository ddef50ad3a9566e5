// `markdown-steps`: `# Plan: …` with numbered steps below `## Steps`, each a title in bold with `Files:`, `Depends:` and `Tags:`
// lines. Without any `Depends:` the steps follow each other; `Depends: none` says that a step waits for nothing.

import type { TaskName } from '../../../domain/id.ts'
import type { PlanDefinition } from '../../../domain/plan.ts'
import type { Dialect, StatusOf } from '../../../format/plan/dialect.ts'
import { printed } from '../export-loss.ts'
import { markdownLines, mayBeMarkdown } from './markdown-lines.ts'
import {
  BOXES,
  bodyLines,
  childLines,
  dependsLines,
  indented,
  page,
  planHeading,
  printHead,
  printTail,
  type Section,
  sectionsOf,
  sectionText,
  tasksOf,
  titleText,
  wordFor,
  writtenIds,
} from './markdown-print.ts'
import { type Kind, readMarkdown } from './markdown-read.ts'

const STEPS_TITLE = /^(?:(?:implementation|plan)[ \t]+)?(?:steps|tasks)\b:?$/i

const KIND: Kind = {
  style: {
    headed: () => null,
    sectioned: (_, level) => level <= 2,
    listed: (item, section) => STEPS_TITLE.test(section.title) && (item.number !== null || item.box !== null),
  },
  milestone: () => null,
  order: 'chain',
}

export const markdownSteps: Dialect = {
  name: 'markdown-steps',
  about: 'Markdown: # Plan, ## Steps, numbered steps with Files, Depends and Tags',
  recognises: source => {
    if (!mayBeMarkdown(source)) return false
    let inSteps = false
    for (const { form } of markdownLines(source)) {
      if (form.type === 'heading' && form.level <= 2) inSteps = STEPS_TITLE.test(form.text)
      else if (inSteps && form.type === 'item' && form.number !== null) return true
    }
    return false
  },
  read: source => readMarkdown(source, KIND),
  print: (definition, status) => printed(write(definition, status), definition, status, markdownSteps.read),
}

function write(definition: PlanDefinition, status: StatusOf): string {
  const tasks = tasksOf(definition)
  const numbers = tasks.map((_, index) => String(index + 1))
  const depends = dependsLines(tasks, null, numbers)
  const written = writtenIds(tasks)
  const steps = tasks.flatMap((task, index) => {
    const now = status(task.id)
    const box = BOXES[now] === ' ' ? '' : `[${BOXES[now]}] `
    const below = { depends: depends[index]!, named: written.has(task.id), milestone: true, status: wordFor(now) }
    const head = `${numbers[index]}. `
    const inner = [...bodyLines(task, below), ...childLines(task, task.id as TaskName, status)]
    return [`${head}${box}${titleText(task, 'bold')}`, ...indented(inner, head.length)]
  })
  const intro = sectionsOf(definition).filter(({ title }) => STEPS_TITLE.test(title))
  const placed = new Set<Section>(intro.slice(0, 1))
  return page([
    ...printHead(definition, planHeading(definition)),
    '## Steps',
    '',
    ...[...placed].flatMap(({ text }) => sectionText(text)),
    ...steps,
    '',
    ...printTail(definition, placed),
  ])
}
