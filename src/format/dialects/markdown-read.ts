// From the outline of a Markdown plan to the canonical document. Where nobody says what an entry depends on, the order of the
// list counts, or the order of the phases; as soon as one entry of a list says it, only what is said counts.

import type { TaskName } from '../../domain/id.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import { DOCUMENT_MAX_BYTES } from '../../domain/limits.ts'
import type { Reading } from './dialect.ts'
import { Level } from './markdown-level.ts'
import { markdownLines } from './markdown-lines.ts'
import { NESTED_MAX, outlineOf, type Section, type Style } from './markdown-outline.ts'
import { PLAN_WORDS, readBody } from './markdown-words.ts'
import { slug } from './naming.ts'
import { EDGES_MAX, edgesByRank, needsByRank } from './plan-steps-order.ts'
import { readCriterionLine } from './plan-steps-words.ts'
import { Draft } from './reading.ts'
import type { Source } from './source.ts'

export interface Kind {
  readonly style: Style
  /** The milestone that a section stands for; null for none. */
  milestone(section: Section): string | null
  /** Does the whole plan wait phase by phase, or entry by entry? */
  readonly order: 'phases' | 'chain'
}

export function readMarkdown(source: Source, kind: Kind): Reading {
  const draft = new Draft(source)
  if (Buffer.byteLength(source.text) > DOCUMENT_MAX_BYTES) {
    draft.refuseAt(
      1,
      1,
      `the document is larger than ${DOCUMENT_MAX_BYTES / 1024 / 1024} MB`,
      'put large content into files',
    )
    return draft.reading({})
  }
  const { sections, tooDeep } = outlineOf(markdownLines(source), kind.style)
  if (tooDeep !== null) {
    draft.refuseAt(tooDeep, 1, `tasks are nested more than ${NESTED_MAX} deep`, 'move the inner ones further out')
    return draft.reading({})
  }
  draft.trace.mark([], { line: 1, column: 1 })
  const plan: { [key: string]: Json } = { planfold: 1, ...readHead(draft, sections) }
  const done = sections.flatMap(({ criteria }) => criteria)
  if (done.length > 0) plan.done = done.filter(({ text }) => text !== '').map(({ text }) => readCriterionLine(text))
  plan.tasks = readTasks(draft, sections, kind)
  const extra = sectionsKept(sections, kind)
  if (extra.length > 0) plan.extra = { sections: extra }
  return draft.reading(plan)
}

/** Title, goal and name: what stands before the first section of tasks. */
function readHead(draft: Draft, sections: readonly Section[]): JsonObject {
  const head = headOf(sections)
  const written = head.find(({ level }) => level === 1)
  const title = written === undefined ? null : titleOf(written.title)
  const { words, prose } = readBody(
    head.flatMap(({ body }) => body),
    PLAN_WORDS,
  )
  const name = title === null ? null : slug(title)
  const plan: { [key: string]: Json } = {
    ...(title === null ? {} : { title }),
    ...(prose === null ? {} : { goal: prose }),
    ...(name === null ? {} : { name }),
  }
  for (const [key, { value, at }] of words) {
    plan[key] = value
    draft.trace.mark([key], { line: at, column: 1 })
  }
  return plan
}

/** `# Plan: Dark mode` is called `Dark mode`. */
function titleOf(text: string): string | null {
  const title = /^plan(?:[ \t]*:[ \t]*(.*))?$/is.exec(text)
  const said = title === null ? text : (title[1] ?? '')
  return said === '' ? null : said
}

/** The text before the first heading, and the first heading when it is one of the first level. */
function headOf(sections: readonly Section[]): readonly Section[] {
  return sections.slice(0, sections[1]?.level === 1 ? 2 : 1)
}

/** Sections that hold no tasks, and what is said in those that do. A heading above others, with nothing of its own, is only order. */
function sectionsKept(sections: readonly Section[], kind: Kind): readonly JsonObject[] {
  const head = headOf(sections)
  return sections.flatMap((section, index) => {
    if (head.includes(section)) return []
    const { prose } = readBody(section.body, [])
    const above = (sections[index + 1]?.level ?? 0) > section.level
    const empty = section.entries.length === 0 && section.criteria.length === 0 && !above && section.title !== ''
    if (prose === null && !empty) return []
    const title = section.entries.length > 0 ? (kind.milestone(section) ?? section.title) : section.title
    return [{ title, text: prose ?? '' }]
  })
}

function readTasks(draft: Draft, sections: readonly Section[], kind: Kind): readonly JsonObject[] {
  const phases = sections.filter(({ entries }) => entries.length > 0)
  const standing = phases.flatMap(section => section.entries.map(entry => ({ entry, section })))
  const level = new Level(
    draft,
    standing.map(({ entry }) => entry),
    ['tasks'],
    '',
  )
  const ranks: (readonly TaskName[])[] = []
  let at = 0
  for (const { entries } of phases) {
    ranks.push(level.ids.slice(at, at + entries.length))
    at += entries.length
  }
  if (kind.order === 'phases') {
    if (edgesByRank(ranks) > EDGES_MAX) {
      draft.refuseAt(1, 1, 'its phases are too large to wait for each other', "make smaller phases, or say 'Depends:'")
      return []
    }
    // `Depends: Phase 1`, and `Depends: 1` where tasks are numbered 1.1.
    level.groups = new Map(
      phases.flatMap(({ title }, index) => {
        const number = /^phase[ \t]+(\d+)/i.exec(title)?.[1]
        return number === undefined ? [] : [[number, ranks[index]!] as const]
      }),
    )
  }
  const unsaid = kind.order === 'phases' ? needsByRank(ranks) : null
  return level.read(unsaid, index => kind.milestone(standing[index]!.section))
}
