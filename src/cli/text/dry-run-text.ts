// A dry run as people read it: a heading for each wave, then each task with what it would do.

import type { Criterion } from '../../domain/plan.ts'
import { criterionText, effectsText } from '../../domain/plan-rules/criterion-text.ts'
import { IMPACT_WORDS } from '../../domain/plan-rules/impact.ts'
import type { DryRunTask } from '../../operations/dry-run.ts'
import { escapeForTerminal } from '../../safety/text/terminal.ts'
import type { Paint } from '../terminal/paint.ts'

export type Would = Omit<DryRunTask, 'gate' | 'decides'> & { readonly gate: string | null }

const CRITERION_MAX = 200

export function dryRunLines(would: readonly Would[], paint: Paint): readonly string[] {
  const lines: string[] = []
  const counts = new Map<string, number>()
  for (const each of would) counts.set(heading(each), (counts.get(heading(each)) ?? 0) + 1)
  let last: string | null = null
  for (const each of would) {
    const name = heading(each)
    const count = counts.get(name) ?? 1
    if (name !== last) lines.push(paint.dim(`── ${name}${count > 1 ? `: ${count} tasks` : ''} ──`))
    last = name
    lines.push(...task(each, paint), '')
  }
  return lines
}

function heading({ action, wave }: Would): string {
  if (action === 'verify') return 'at the end'
  return wave === null ? 'never reached' : `stage ${wave}`
}

function task(each: Would, paint: Paint): readonly string[] {
  const { preview } = each
  const needs = each.needs.filter(need => !need.startsWith(`${each.task}/`))
  const after = needs.length === 0 ? '' : paint.dim(` after ${needs.join(', ')}`)
  const title = each.title === null ? '' : ` — ${escapeForTerminal(each.title)}`
  const status = each.status === null ? '' : paint.dim(` [${each.status}]`)
  const text =
    preview === null
      ? (endedWords(each) ?? inWords(each))
      : preview.trim() === ''
        ? 'changes nothing right now'
        : preview
  return [
    `${paint.bold(each.task)} ${paint.dim([each.action, each.effect, ...(each.runs === null ? [] : [each.runs])].join(', '))}${status}${after}${title}`,
    ...(each.conditional ? [paint.dim('    only when an outcome leads here')] : []),
    ...(each.when === null ? [] : [paint.dim(`    only when ${escapeForTerminal(each.when)}`)]),
    ...each.preconditions.map(one => paint.dim(`    before: ${judged(one)}`)),
    ...each.checks.map(one => paint.dim(`    checks: ${judged(one)}`)),
    ...(each.gated === null
      ? []
      : [paint.yellow(`    asks for approval first, because it ${IMPACT_WORDS[each.gated]}`)]),
    ...text
      .trimEnd()
      .split('\n')
      .map(line => `    ${tintDiff(escapeForTerminal(line.replaceAll('\t', '    ')), paint)}`),
    ...each.accept.map(one => paint.dim(`    then: ${judged(one)}`)),
    ...each.postconditions.map(one => paint.dim(`    after: ${judged(one)}`)),
    ...(each.effects === null ? [] : [paint.dim(`    effects: ${escapeForTerminal(effectsText(each.effects))}`)]),
  ]
}

function endedWords({ status }: Would): string | null {
  switch (status) {
    case 'completed':
      return 'already completed'
    case 'failed':
      return 'has failed'
    case 'skipped':
    case 'abandoned':
    case 'cancelled':
      return `was ${status}`
    default:
      return null
  }
}

function inWords({ action, asks, gate, releases, alsoWaits, needs, task: name }: Would): string {
  const who = asks.join(', ')
  switch (action) {
    case 'gate':
      return [
        `${gate ?? ''}${releases.length === 0 ? '' : `, then ${releases.join(', ')} can start`}`,
        ...alsoWaits.map(each => `${each.task} also waits for ${each.for.join(', ')}`),
      ].join('; ')
    case 'external':
      return `waits for ${who === '' ? 'an agent or a person' : who} to claim it`
    case 'group':
      return `is completed when its ${needs.filter(need => need.startsWith(`${name}/`)).length} children are`
    case 'items':
      return 'finds out its items and adds a task for each'
    case 'verify':
      return 'runs the final checks'
    default:
      return `'${action}' is not supported by this release; it refuses to start the plan`
  }
}

function judged(criterion: Criterion): string {
  const text =
    criterion.type === 'prose'
      ? `${criterion.text} (checked by a person)`
      : `${criterion.type === 'expect' ? '' : '$ '}${criterionText(criterion)}`
  return escapeForTerminal(text.length > CRITERION_MAX ? `${text.slice(0, CRITERION_MAX)}…` : text)
}

function tintDiff(line: string, paint: Paint): string {
  if (line.startsWith('+')) return paint.green(line)
  if (line.startsWith('-')) return paint.red(line)
  return line.startsWith('@@') ? paint.cyan(line) : line
}
