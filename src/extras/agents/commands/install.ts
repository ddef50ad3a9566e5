// `planfold agents install AGENT`: shows what would be written for a coding agent, asks, and writes it; with --uninstall takes it back.

import { statSync } from 'node:fs'
import { delimiter, join, relative } from 'node:path'
import { answer, CliError, type Context, declined, EXIT, notConfirmed, usage } from '../../../cli/command.ts'
import { confirm } from '../../../cli/terminal/confirm.ts'
import { VERSION } from '../../../cli/version.ts'
import { locate } from '../../../compose.ts'
import { numberOf } from '../../../domain/phrases.ts'
import { patchOf } from '../../../format/text/patch.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { type AgentSetup, agentSetup, type InstallScope } from '../integration/agent-files.ts'
import { type FileChange, type InstallPlan, planInstall, planUninstall } from '../integration/install-agent.ts'
import { recordFolder } from '../integration/install-record.ts'
import { knownAgents } from '../known-agents.ts'

export interface InstallOptions {
  readonly project?: boolean
  readonly user?: boolean
  readonly dryRun?: boolean
  readonly yes?: boolean
  readonly uninstall?: boolean
}

export async function install(context: Context, agent: string, options: InstallOptions): Promise<number> {
  const { cwd, environment, settings } = context
  if (options.project === true && options.user === true)
    throw usage('--project and --user cannot be used together', 'use one of them; --project is the default')
  const home = environment.HOME ?? ''
  if (!home.startsWith('/'))
    throw usage('HOME is not set, so your settings cannot be found', 'set HOME to your home folder')
  const scope: InstallScope = options.user === true ? 'user' : 'project'
  const { root: project, stateDir } = locate({ cwd, environment, dir: settings.dir })
  const { installable } = await knownAgents({ environment, root: project, stateDir })
  const row = installable.find(({ name }) => name === agent)
  const setup = row === undefined ? null : agentSetup(row, scope, { project, home, environment }, VERSION)
  if (setup === null)
    throw usage(`unknown agent '${agent.slice(0, 60)}'`, `one of ${installable.map(({ name }) => name).join(', ')}`)
  const ask = { setup, scope, records: recordFolder(home, environment) }
  const isUninstall = options.uninstall === true
  const plan = isUninstall ? await planUninstall(ask) : await planInstall(ask)
  if (!plan.ok) throw refusalOf(plan)
  const base = scope === 'project' ? project : home
  const isWritten = await carryOut(context, plan, options, base)
  const next = isUninstall ? [] : nextSteps(context, setup)
  const changes = plan.changes.map(({ path, before, after }) => ({
    path,
    what: before === null ? 'create' : after === null ? 'delete' : 'change',
  }))
  const data = { agent, scope, place: base, tested: setup.tested, changes, notes: plan.notes, written: isWritten, next }
  answer(context, data, () => [
    ...plan.notes.map(note => `note: ${escapeForTerminal(note)}`),
    ...outcome(plan, setup, { isUninstall, isWritten, isDryRun: options.dryRun === true }),
    ...(isWritten || (plan.changes.length === 0 && !isUninstall) ? next : []),
  ])
  return EXIT.done
}

/** False when nothing was to be written, or only to be shown. */
async function carryOut(
  context: Context,
  { changes, apply }: Extract<InstallPlan, { ok: true }>,
  options: InstallOptions,
  base: string,
): Promise<boolean> {
  const isQuiet = context.settings.json || (context.settings.quiet && options.dryRun !== true)
  if (!isQuiet) for (const change of changes) context.stdout.write(`${changeLines(context, change, base).join('\n')}\n`)
  if (options.dryRun === true) return false
  if (changes.length > 0 && options.yes !== true) {
    if (context.terminal === null || context.settings.json)
      throw notConfirmed(
        'nothing was written: nobody is at a terminal to be asked',
        'add --yes to write this, or --dry-run to only see it',
      )
    if (!(await confirm(context, `Make ${changes.length === 1 ? 'this change' : `these ${changes.length} changes`}?`)))
      throw declined('nothing was changed')
  }
  await apply()
  return changes.length > 0
}

function changeLines({ paint }: Context, { path, before, after }: FileChange, base: string): readonly string[] {
  const what = before === null ? 'create' : after === null ? 'delete' : 'change'
  const patch = patchOf(Buffer.from(before ?? ''), Buffer.from(after ?? ''))
  const lines = patch.type === 'text' ? patch.lines : [patch.why]
  const painted = lines.map(line => {
    const text = `  ${escapeForTerminal(line.replace(/\r$/, ''), { keepLines: true })}`
    return line.startsWith('+') ? paint.green(text) : line.startsWith('-') ? paint.red(text) : text
  })
  return [`${what} ${escapeForTerminal(shownPath(path, base))}`, ...painted]
}

const shownPath = (path: string, base: string): string => {
  const inside = relative(base, path)
  return inside.startsWith('..') ? path : inside
}

function outcome(
  { changes, notes }: Extract<InstallPlan, { ok: true }>,
  { title, tested }: AgentSetup,
  { isUninstall, isWritten, isDryRun }: { isUninstall: boolean; isWritten: boolean; isDryRun: boolean },
): readonly string[] {
  const untested =
    tested || isUninstall ? [] : [`${title} was not tested with Planfold: these files follow its documentation.`]
  const done = isUninstall ? 'changed back or deleted' : 'written'
  if (isDryRun && changes.length > 0) return [`${numberOf(changes.length, 'file')} would be ${done}`, ...untested]
  if (!isWritten)
    return [
      isUninstall ? `Planfold is not installed for ${title} here` : `Planfold is already installed for ${title} here`,
    ]
  return [
    `${isUninstall ? 'removed from' : 'installed for'} ${title}: ${numberOf(changes.length, 'file')} ${done}${isUninstall && notes.length > 0 ? '; not all of it, see the notes' : ''}`,
    ...untested,
  ]
}

function nextSteps({ environment }: Context, { next }: AgentSetup): readonly string[] {
  const isFound = (environment.PATH ?? '')
    .split(delimiter)
    .some(folder => statSync(join(folder, 'planfold'), { throwIfNoEntry: false })?.isFile() === true)
  return [
    `Next: ${next}`,
    ...(isFound
      ? []
      : ['`planfold` is not on your PATH, so the agent cannot start it: run `npm link` in the repository of Planfold']),
  ]
}

function refusalOf({ refused }: Extract<InstallPlan, { ok: false }>): CliError {
  const [first, ...others] = refused
  return new CliError(
    EXIT.refused,
    'refused',
    [`${first!.path} ${first!.why}`, ...others.map(({ path, why }) => `${path} ${why}`)].join('; '),
    'nothing was written. Correct this, then try again',
    [],
    { refused },
  )
}
