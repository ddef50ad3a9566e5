// A briefing as people and agents read it: one thing a line, with what it is in front. Everything in it was written by
// others, so everything is escaped; what runs over several lines stays aligned.

import type { Json } from '../../domain/json.ts'
import { numberOf } from '../../domain/phrases.ts'
import type { Criterion, OutputSource } from '../../domain/plan.ts'
import { criterionText as criterionLine, effectsText } from '../../domain/plan-rules/criterion-text.ts'
import type { Briefing, EarlierAttempt } from '../../domain/views/board.ts'
import type { JudgedText } from '../../runners/runner.ts'
import { escapeForTerminal, shellWord as quoted } from '../../safety/text/terminal.ts'
import type { Paint } from '../terminal/paint.ts'
import { hintText } from './hint-text.ts'

const VALUE_MAX = 2_000
const LABEL_WIDTH = 8

export function briefingLines(briefing: Briefing, paint: Paint, isFree = false): readonly string[] {
  return rowsOf(briefing, isFree).flatMap(([label, text]) => labelled(label, text, paint))
}

/** What a reviewer is shown of the work. */
export const judgedLines = (work: readonly JudgedText[] | null, paint: Paint): readonly string[] =>
  (work ?? []).flatMap(({ title, text }) => [
    '',
    paint.dim(title),
    ...escapeForTerminal(text, { keepLines: true })
      .split('\n')
      .map(line => `  ${line}`),
  ])

/** An agent that sent no heartbeat leaves its changes, unless a person undoes them; empty when there are none. */
export function leftLines(briefing: Briefing, { plan, visit }: Standing, paint: Paint): readonly string[] {
  if (leftIn(briefing, visit) === null) return []
  return labelled('left', `these changes stay; undo them: ${undoCommand(briefing, plan)}`, paint)
}

export function halfMadeLines(briefing: Briefing, { plan, visit }: Standing, paint: Paint): readonly string[] {
  const left = leftIn(briefing, visit)
  if (left === null) return []
  const shown = left.paths.slice(0, LEFT_SHOWN)
  const more = left.paths.length + left.more - shown.length
  const files = `${shown.join(', ')}${more > 0 ? ` and ${numberOf(more, 'more file')}` : ''}`
  const [by, undo] = [left.by === null ? '' : ` by ${left.by}`, undoCommand(briefing, plan)]
  return labelled(
    'left',
    `${briefing.task} is half done${by}: ${files}\nto keep that, do nothing; undo it: ${undo}`,
    paint,
  )
}

interface Standing {
  readonly plan: string
  /** Of the task now: what an earlier visit left was kept or undone with it. */
  readonly visit: number
}

const LEFT_SHOWN = 5

function leftIn({ earlier }: Briefing, visit: number) {
  const last = earlier.at(-1)
  if (last?.how !== 'lost' || last.visit !== visit || last.left === null || last.left.paths.length === 0) return null
  return { ...last.left, by: last.by }
}

const undoCommand = ({ task }: Briefing, plan: string): string => `planfold rollback ${quoted(plan)} --tasks ${task}`

export function labelled(label: string, text: string, paint: Paint): readonly string[] {
  const lines = escapeForTerminal(text.trimEnd().replaceAll('\r\n', '\n'), { keepLines: true }).split('\n')
  return lines.map((line, at) => `  ${paint.dim((at === 0 ? label : '').padEnd(LABEL_WIDTH))} ${line}`.trimEnd())
}

function rowsOf(briefing: Briefing, isFree: boolean): readonly (readonly [string, string])[] {
  const { description, instruction, bound, inputs, unresolved, outputs, failureModes, outcomes } = briefing
  const words: readonly (readonly [string, string | null])[] = [
    ['what', description],
    ['do', instruction],
  ]
  return [
    ...words.flatMap(([label, text]) => (text === null ? [] : [[label, text] as const])),
    ...Object.entries(bound ?? {}).map(([name, value]) => [name, shown(value as Json)] as const),
    ...Object.entries(inputs).map(([name, value]) => ['input', `${name} = ${shown(value)}`] as const),
    ...unresolved.map(
      ({ input, message, hint }) =>
        ['input', `${input} is not known: ${message}${hint === null ? '' : ` (${hintText(hint)})`}`] as const,
    ),
    ...(briefing.learnt ?? []).map(text => ['learnt', text] as const),
    ...briefing.feedback.map(({ from, by, text }) => ['said', `${by} at ${from}: ${shown(text)}`] as const),
    ...briefing.earlier.flatMap(earlierRows),
    ...briefing.preconditions.map(one => ['before', criterionText(one)] as const),
    ...briefing.accept.map(one => ['accept', criterionText(one)] as const),
    ...briefing.postconditions.map(one => ['after', criterionText(one)] as const),
    ...(briefing.write === null
      ? []
      : [
          [
            'write',
            `only in ${briefing.write.join(', ') || 'nothing'}${isFree ? ' (declared, not enforced)' : ''}`,
          ] as const,
        ]),
    ...(briefing.effects === null ? [] : [['effects', effectsText(briefing.effects)] as const]),
    ...Object.entries(outputs).map(([name, source]) => ['output', `${name}${sourceText(source)}`] as const),
    ...failureModes.map(({ name, detect, recover, advice }) => {
      const leads = recover === undefined ? '' : `; leads to ${recover.join(', ')}`
      return ['mode', `${name}: ${criterionText(detect)}${advice === undefined ? '' : `; ${advice}`}${leads}`] as const
    }),
    ...Object.entries(outcomes).map(([outcome, to]) => ['outcome', `${outcome} leads to ${to.join(', ')}`] as const),
  ]
}

function earlierRows({
  visit,
  attempt,
  by,
  how,
  why,
  unmet,
  left,
}: EarlierAttempt): readonly (readonly [string, string])[] {
  const who = by === null ? '' : ` of ${by}`
  const which = `${how === 'refused' ? 'a report in attempt' : 'attempt'} ${attempt}${visit === 1 ? '' : ` of visit ${visit}`}${who}`
  const others = unmet
    .slice(1)
    .map(({ criterion, evidence }) => `${criterion}${evidence === null ? '' : ` (${evidence})`}`)
  const lines = [
    `${which} ${how === 'refused' ? 'was refused' : `was ${how}`.replace('was failed', 'failed')}: ${why}`,
    ...others.map(one => `also failed: ${one}`),
    ...(left === null || left.paths.length === 0
      ? []
      : [`it left ${left.paths.join(', ')}${left.more === 0 ? '' : ` and ${left.more} more`}`]),
  ]
  return [['earlier', shown(lines.join('\n'))]]
}

function shown(value: Json): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > VALUE_MAX ? `${text.slice(0, VALUE_MAX)}… (all of it with --json)` : text
}

function criterionText(criterion: Criterion): string {
  if (criterion.type === 'prose') return criterion.text
  const text = `${criterion.type === 'expect' ? '' : '$ '}${criterionLine(criterion)}`
  return criterion.text === undefined ? text : `${criterion.text} (${text})`
}

function sourceText(source: OutputSource): string {
  const type = source.type === undefined ? '' : `: ${source.type}`
  if (source.from === 'file') return `, from the file ${source.file}${type}`
  if (source.from === 'stdout') return `, from what it prints${source.as === 'json' ? ', as JSON' : ''}${type}`
  return `, to be reported${type}`
}
